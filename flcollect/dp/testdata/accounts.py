"""Answers each line of the input, "rate multiplier times delta", with the
epsilon that dp-accounting finds at the whole orders given as arguments."""

import sys

from dp_accounting import dp_event, rdp

orders = [int(order) for order in sys.argv[1:]]
for line in sys.stdin:
    rate, multiplier, times, delta = line.split()
    accountant = rdp.RdpAccountant(orders)
    event = dp_event.PoissonSampledDpEvent(float(rate), dp_event.GaussianDpEvent(float(multiplier)))
    accountant.compose(event, int(times))
    print(accountant.get_epsilon(float(delta)))
