"""Registers of single servos at the bench: looked at, set, written for good.

blocking        single exchanges with a servo with registers, each waited for; its id and rate, given for good
settings        the registers of one servo, looked at and set at the bench
"""
