"""The configurations, plants and scripts of the runs on other seeds: other runs are of the same legs by these."""

from __future__ import annotations

from collections.abc import Mapping

SAME_LEGS: Mapping[str, tuple[str, ...]] = {
    "configs/lin_roach/joints.xml": (
        "f9974aee7fd421683835387da88fb8db33cbf04710a0b8bf25781c391c1ed2cc",
        "05af26b1cdc4229327f59fbb8474034c385a4c672b0693929eb24f0027c3a8eb",
    ),
    "configs/lin_roach/parameters.xml": (
        "1c5e4cf2049135264f72a8026f0b0a6b8b1a6fa0c4312610afef4d839b3e956e",
        "ee0e28ac157bce8eebb3c16cfbafc8cbeac24328059009cc1b186ad42d90062e",
    ),
    "configs/lin_roach/plant.toml": ("889c391cdc620f10a4ad00d6b6c13b9ee777c961ffeff6dceb8acfcbd7574792",),
    "configs/lin_roach/sensors.xml": ("ed12d745560ac992b51c1f7addcd7618d3463893084673affa88f04f630b5989",),
    "configs/lin_stickmiddle/joints.xml": (
        "3a5d7c1b46ed10dd1cca46229f42f92dc051fe5b369b745b88819b31abf883cf",
        "dfbfebe45eea973741ab57c1df077e708ea1137cfd1d6f60c0e13dad4b9d98b4",
    ),
    "configs/lin_stickmiddle/parameters.xml": (
        "30ee291f53d2a2bf2474cc5a2c4b4c2c8449aec9d68b88d8543cffde801a2848",
        "9d5c34dad939336d51f5f1d99364cbd1ab1f98249c154cf2074186c0ea17f45e",
    ),
    "configs/lin_stickmiddle/plant.toml": ("6c34c9e01f2229d2dc6c2dc7bf5e1ce4546d835bbeefef4a26960480214e27f8",),
    "configs/lin_stickmiddle/sensors.xml": ("810497f524c69a7d81c5c31d40793e493e7b9fc1fea981b3bf6006f7d0b9ddcb",),
    "configs/null_roach/joints.xml": (
        "5c112bcd1bd827614a81423a3b67533cc030310e82b15d702ae919ce90c42d99",
        "a612fc0e23ce11c05d6ea0e758e4cea5b650480c77c0762e895a602d758cce58",
    ),
    "configs/null_roach/parameters.xml": (
        "0f6c55da727c1c4f90c4acecf7fad841a9901a4db913a8c5bc4c5cc32093ad6b",
        "11672576a5899ce22a9f016c0e498f273fc2af0b7fe9c29343ad99b0c78eff0c",
    ),
    "configs/null_roach/sensors.xml": ("a106200dffed54ad9358b0ce7a769968b08d7d00d893e2e1eab61c27a1b13e5b",),
    "configs/null_stickmiddle/joints.xml": (
        "58c3d1301c4231eaebc4300a25aeb52bb0004e9fc8e2ed2bf9fde4c1e9f39f9b",
        "28a92e2b0e8a0d41321c4e77b5df5780072d360742b9e4df1eba5f0ecf124430",
    ),
    "configs/null_stickmiddle/parameters.xml": (
        "693e3520ddde71555b6a62f0db724f433ef704805080a5d3417658c144ded24c",
        "00570eb9cee8b7947efef4b295445a41ac91675e57601b768fcd8f5404b6948b",
    ),
    "configs/null_stickmiddle/sensors.xml": ("ab5e4caef5afd3b94cc4d083dc1ed17bd84707a8170edb9b3b0df2ace7b2c2b3",),
    "configs/pc_stickmiddle/joints.xml": (
        "433b0b7df0a32a72a4e74291f662e20b3e3a2224ac608eb8903ec0a2eebea378",
        "3a24537f2058450a684231312de662c1a84413d8916e7e65d2566abcf46bee02",
    ),
    "configs/pc_stickmiddle/parameters.xml": (
        "0887e1f5d6621c247d5b7652c5c00ab65dead58bda82572b26892f73bd99a0af",
        "a2199f7f4b8aec031e9ef9e3b04aba80212ca6418b0a55aae6744e7640922215",
    ),
    "configs/pc_stickmiddle/sensors.xml": ("3083b5590c701155f5898a4abab3ffced6fa0f009e326a9e851d8cc6616b794a",),
    "configs/restricted_null_stick/joints.xml": (
        "ed5022c1c168c1e9cd69a2ccc9f9cc4949783c2a0e30a3803ea4a7e0241dce79",
        "67fd8327e3c4ef354d822248feefaa0f23dacb1d31a885e3aca16f0e0e1940a8",
    ),
    "configs/restricted_null_stick/parameters.xml": (
        "1ee1a700a12e5f7be0edc4a42fbbb5dd6b96954c7a1bdc26a0430b34f7f257a2",
        "ea2be35a66404f70e111133ae47f1f1c30eb62df455b1913c8efd8fc573f2995",
    ),
    "configs/restricted_null_stick/sensors.xml": ("c9e27724833029dd47545a37ab35c2d1cc6510d0ccf305468667a251a15dd3aa",),
    "configs/restricted_pc_stick/joints.xml": (
        "a1bf58dedfec687cf5dd383d60bbc64c2a0ff50121fa19ca6e4b2e80d26334a4",
        "cd963e5afe250af6349b6f4a047f2773a3ad6c9bbb04e0e13f734ab3a8f43ef0",
    ),
    "configs/restricted_pc_stick/parameters.xml": (
        "1087e4b62b18de994ada963cfb7ad89851a8e0ecc8c92a6ed88361e5976f06ba",
        "cdd52ad7af727d9c9b1d8f81b9742f049bc1c8c736b1a01afcc031cd4ec88c72",
    ),
    "configs/restricted_pc_stick/sensors.xml": ("f73913c456d717543006bbbff33e65c32746d4d029e66fd2b434e08c1fa280aa",),
    "scripts/dropout_fwd.xml": ("f20d102fe935bff81cf27bc68444c28b746be7182d296b94ab92b391b1217b8f",),
    "scripts/dropout_itb.xml": ("c75718ad079b820cefd9a8cb5bfcb716cd94472d6df1e2baf4f7a36108567444",),
    "scripts/dropout_itf.xml": ("5254bb541dc6f864ea2326a0f84d9d14d7ea02d7ee667e882789fa76ccae2b27",),
    "scripts/experiment_a.xml": ("e193dc51bea728883aecaa5ea205b702a814d7a133c190d6ba50f17251375cd5",),
    "scripts/experiment_b.xml": ("9839f4fd0c6348f89d230d93e04dbbcc99b809abbb1c3634a49023e99a5c864c",),
    "scripts/experiment_d.xml": ("2dddd71d7e7b83d043097104d5905736946cece34f2e14cf61fb9712044ca9ee",),
    "scripts/experiment_d_commuting.xml": ("bf231e0cab5eea7140acc445aee3db6cbb0ee75860bb5868cef6d5dfaf5ad9b8",),
    "scripts/experiment_ea.xml": ("d29b0670d8cb5da84f82c91896a54ef321323b7963e4c3c97247110b13e23106",),
    "scripts/experiment_eb.xml": ("9c15d194f045c40f94f0d9330f4233ad4685c834f659874e78433b254b2dfb60",),
    "scripts/experiment_ec.xml": ("38f96c955f751399942f4e4755669262ba0c7912ec1ccd3cdd4ea9f20cd50f70",),
    "scripts/experiment_fa.xml": ("e6ba508844c88cb79bb654852a7c3fc8f17654bb46ac17d2a23aa2c993442bc0",),
    "scripts/experiment_fb.xml": ("19d860a55c55ce2241f2fce562af724293ee87af65edc50d30af64b9582621ab",),
    "scripts/experiment_ga.xml": ("4994171b620eb81d1dd683e603541ff4a7c7ce66b99a59c91d2363ff0db50948",),
    "scripts/experiment_gb.xml": ("c07c05f19c7a9471a9f0b97c1db1983a63f3b2fb94057d208b42139479164752",),
    "scripts/experiment_gc.xml": ("6c80613ec1af4ec771ec31cb6d976b402d55315ca9baaf82ee022061c22e9d1b",),
    "scripts/magnet_fwd.xml": ("f0a060d4119b15669e078595d795d7cb136d669f75351c63b866f09e8c43d70b",),
    "scripts/magnet_itb.xml": ("58c9a8fd2253fcdfbf9a346289eabb00266009e4294e6854bb77675fdd04d8fb",),
    "scripts/magnet_itf.xml": ("559f4a9edae8c6baee7488717c8e28eee35cf89ef0a6ca7889ee24bcf32e03e9",),
    "scripts/restricted_disconnect.xml": ("4ad312bf748ae9fabf72778bbbf866f02c8c437bb531a4ddc9e29bec8d60ab32",),
    "scripts/restricted_heights.xml": ("c43ae0c260fa1b5f527fb99021b86c0cedae519328f184507ccd1f451900ce29",),
    "scripts/restricted_start_dep_ext.xml": ("4fa993a0a6efe8e8dfe42b23c454f18dd4c9a347fb50e5043cf133c4ae22da96",),
    "scripts/restricted_start_dep_flx.xml": ("f9641319519014d3d52db19290deb4b7c5ea15309f884669437613037dc23f86",),
    "scripts/restricted_start_lev_ext.xml": ("12e0a944c9a5f9aa60ec3153b364baf41abfc139856a2e1ef1c01b9a06f9bfde",),
    "scripts/restricted_start_lev_flx.xml": ("520e1c0bce26170aeb79de055dc3bc705443fe2146abb4bbcb2580baa1b342f8",),
}
"""Name -> sha256 of the file as it was then, and of those that make the same leg: they differ in an explanation, or say
what was taken for granted before (which sensors are whose; no start state for a joint without states)."""
