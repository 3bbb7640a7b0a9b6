"""Asks dp-accounting what trainings give away: python epsilon.py MULTIPLIER DELTA ROUNDS

Every round is a Gaussian mechanism on all clients; orders are whole.
"""

import sys

from dp_accounting import dp_event, rdp

accountant = rdp.RdpAccountant(list(range(2, 256)))
accountant.compose(dp_event.GaussianDpEvent(float(sys.argv[1])), int(sys.argv[3]))
print(accountant.get_epsilon(float(sys.argv[2])))
