// Where the leg is: forward kinematics from A-matrices and Denavit-Hartenberg lines, as `nuc_engine.model.kinematics`.
// Lengths are centimetres, joint angles degrees; x forward, y left, z up. Matrices are 16 numbers, row-major.

/** @typedef {{amatrix: number[][] | null, dh_line: {a_cm: number, d_cm: number, alpha_deg: number, rad_per_unit: number} | null}} Geometry */

const EYE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

/**
 * @param {ArrayLike<number>} left
 * @param {ArrayLike<number>} right
 */
function times(left, right) {
  const out = new Array(16);
  for (let row = 0; row < 4; row += 1) {
    for (let column = 0; column < 4; column += 1) {
      let sum = 0;
      for (let k = 0; k < 4; k += 1) sum += left[4 * row + k] * right[4 * k + column];
      out[4 * row + column] = sum;
    }
  }
  return out;
}

/**
 * Return the transform of one link: Rz(theta) Tz(d) Tx(a) Rx(alpha).
 * @param {NonNullable<Geometry["dh_line"]>} line
 * @param {number} angle in the joint's units, degrees
 */
export function link(line, angle) {
  const theta = angle * line.rad_per_unit;
  const alpha = (line.alpha_deg * Math.PI) / 180;
  const [ct, st, ca, sa] = [Math.cos(theta), Math.sin(theta), Math.cos(alpha), Math.sin(alpha)];
  // prettier-ignore
  return [
    ct, -st * ca, st * sa, line.a_cm * ct,
    st, ct * ca, -ct * sa, line.a_cm * st,
    0, sa, ca, line.d_cm,
    0, 0, 0, 1,
  ];
}

/**
 * Return where all joints and the chain's end are, from the body outwards.
 * @param {readonly Geometry[]} chain
 * @param {ArrayLike<number>} angles one for each joint, degrees
 * @returns {[number, number, number][]} one more than there are joints
 */
export function jointOrigins(chain, angles) {
  let frame = EYE;
  /** @type {[number, number, number][]} */
  const points = [];
  chain.forEach((geometry, k) => {
    if (geometry.amatrix) frame = times(frame, geometry.amatrix.flat());
    points.push([frame[3], frame[7], frame[11]]);
    if (geometry.dh_line) frame = times(frame, link(geometry.dh_line, angles[k]));
  });
  points.push([frame[3], frame[7], frame[11]]);
  return points;
}

/**
 * How far the foot, a ball around its point, is above the ground, in cm; NaN where there is none to stand on.
 * @param {number} z of its point, in cm
 * @param {{ground_z_cm?: number, foot_radius_mm?: number} | null} plant
 */
export function aboveGround(z, plant) {
  return z - (plant?.ground_z_cm ?? NaN) - (plant?.foot_radius_mm ?? 0) / 10;
}
