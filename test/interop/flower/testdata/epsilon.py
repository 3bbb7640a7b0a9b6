"""Asks dp-accounting what trainings give away: python epsilon.py MULTIPLIER DELTA ROUNDS

Every round is a Gaussian mechanism on all clients; privacy loss distributions are exact
but for their grid.
"""

import sys

from dp_accounting import dp_event, pld

accountant = pld.PLDAccountant()
accountant.compose(dp_event.GaussianDpEvent(float(sys.argv[1])), int(sys.argv[3]))
print(accountant.get_epsilon(float(sys.argv[2])))
