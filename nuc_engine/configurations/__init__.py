"""A configuration for people: checked, explained, compared, adapted to other servos.

adapt            a configuration for servos of another model
describe         a model explained, as plain data
describe_text    the description of a model, laid out as text
describe_uses    what each HDSO of a model serves
difference       named differences between two configurations, two scripts or two bouts
pose             where a model's joints and foot are for given joint angles, as `nuc show --angles` tells it
validation       checking configurations and documents as far as can be seen without a bout
"""
