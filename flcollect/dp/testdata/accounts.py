"""Answers each line of the input, "rate multiplier times delta", with two
epsilons of dp-accounting: that of the orders given as arguments, an upper bound,
and that of privacy loss distributions, which is exact but for its grid, or 0
where that takes long."""

import sys

from dp_accounting import dp_event, pld, rdp

MOST = 20
orders = [float(order) for order in sys.argv[1:]]
for line in sys.stdin:
    rate, multiplier, times, delta = line.split()
    event = dp_event.GaussianDpEvent(float(multiplier))
    if float(rate) < 1:
        event = dp_event.PoissonSampledDpEvent(float(rate), event)
    bound = rdp.RdpAccountant(orders)
    bound.compose(event, int(times))
    print(bound.get_epsilon(float(delta)))
    if bound.get_epsilon(float(delta)) > MOST:
        print(0)
        continue
    exact = pld.PLDAccountant(value_discretization_interval=1e-3)
    exact.compose(event, int(times))
    print(exact.get_epsilon(float(delta)))
