"""A configuration as numbers: plan, store, changes of values, geometry, and where configurations are found.

changes          what a script means to the executive, checked and coded before anything of it takes effect
comparisons      an entry rule taken apart: its comparisons, and what each of them is now
decimals         numbers as people read them
extensions       what users add to the engine: functions, activations, sensor filters and tasks, by entry points
kinematics       where joints and foot of a leg are, from its angles
motors           the motors of a model on the buses that drive them
plan             everything the executive needs of a model, as plain tables without documents
planning         from a checked SCCILS model to the plan the executive runs from
rulecheck        rules that can never be true
scaling          documents in the animal's time, made ones in the time of a leg of another size
singularities    values the engine cannot compute with, though each alone is in its range
store            every value of a model in one block of memory at fixed offsets
torque_table     what torque a servo gives for how many ticks between its goal and its shaft
values           values of HDSOs as people read them
"""
