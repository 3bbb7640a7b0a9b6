package strategy

import "strings"

// New returns the built-in strategy of the name with its parameters; those that
// are not given have the defaults of Flower 1.3.0, or of 1.11 for the rules that
// came later. FedAdam corrects the bias of its first rounds, as Flower's does since
// 1.13, only where bias_correction is true. The error is a *[FieldError]: for an unknown name, an unknown
// parameter, or a value out of range.
func New(name string, conf Conf) (Strategy, error) {
	one, ok := find(name)
	if !ok {
		return nil, &FieldError{Strategy: name, Field: "strategy",
			Reason: "there is none of this name; built in are " + strings.Join(Names(), ", ")}
	}
	r := newReader(name, conf)
	created := one.build(r)
	if err := r.end(); err != nil {
		return nil, err
	}
	return created, nil
}

func buildMean(r *reader) Strategy { return mean{policy: r.failures(r.policy(2))} }

func buildProx(r *reader) Strategy {
	p := r.failures(r.policy(2))
	r.Require("proximal_mu")
	return prox{mean{policy: p}, r.Number("proximal_mu", 0, 0, anything)}
}

func buildTolerant(r *reader) Strategy {
	p := r.policy(1)
	p.Fit.MinCompletion = r.Number("min_completion_rate_fit", 0.5, 0, 1)
	p.Evaluate.MinCompletion = r.Number("min_completion_rate_evaluate", 0.5, 0, 1)
	return mean{policy: p}
}

func buildMomentum(r *reader) Strategy {
	return &momentum{
		policy: r.failures(r.policy(2)),
		rate:   r.Number("server_learning_rate", 1, 0, anything),
		share:  r.Number("server_momentum", 0, 0, anything),
	}
}

func buildFair(r *reader) Strategy {
	return fair{
		policy: r.failures(r.policy(1)),
		q:      r.Number("q_param", 0.2, 0, anything),
		rate:   r.Number("qffl_learning_rate", 0.1, 1e-300, anything),
	}
}

// The members of the FedOpt family.

func buildAdam(r *reader) Strategy {
	a := newAdaptive(r, adam, 0.1, 0.1, 1e-9)
	a.readMoments(r)
	if a.corrected = r.Truth("bias_correction", false); a.corrected && a.beta1 == 1 {
		r.Fail("beta_1", "is 1, which has no bias correction")
	}
	return a
}

func buildYogi(r *reader) Strategy {
	a := newAdaptive(r, yogi, 0.01, 0.0316, 1e-3)
	a.readMoments(r)
	return a
}

func buildAdagrad(r *reader) Strategy { return newAdaptive(r, adagrad, 0.1, 0.1, 1e-9) }

// newAdaptive reads the parameters that the family has in common; the numbers are their defaults.
func newAdaptive(r *reader, second secondMoment, eta, etaL, tau float64) *adaptive {
	a := &adaptive{policy: r.failures(r.policy(2)), second: second}
	a.eta = r.Number("eta", eta, 0, anything)
	r.Number("eta_l", etaL, 0, anything) // a parameter of Flower that has no effect
	a.tau = r.Number("tau", tau, 0, anything)
	return a
}

func (a *adaptive) readMoments(r *reader) {
	a.beta1 = r.Number("beta_1", 0.9, 0, 1)
	a.beta2 = r.Number("beta_2", 0.99, 0, 1)
}

// The strategies that use all updates at once.

func buildMedian(r *reader) Strategy {
	return robust{policy: r.failures(r.policy(2)), rule: median{}}
}

func buildTrimmed(r *reader) Strategy {
	p := r.failures(r.policy(2))
	return robust{policy: p, rule: trimmed{beta: r.Number("beta", 0.2, 0, 0.5)}}
}

func buildKrum(r *reader) Strategy {
	p, k := readKrum(r)
	return robust{policy: p, rule: k}
}

func buildMultiKrum(r *reader) Strategy {
	p, k := readKrum(r)
	k.keep = max(k.keep, 1)
	return robust{policy: p, rule: k}
}

func readKrum(r *reader) (Policy, krum) {
	p := r.failures(r.policy(2))
	return p, krum{malicious: r.Count("num_malicious_clients", 0, 0), keep: r.Count("num_clients_to_keep", 0, 0)}
}

func buildBulyan(r *reader) Strategy {
	p := r.failures(r.policy(2))
	return robust{policy: p, rule: bulyan{malicious: r.Count("num_malicious_clients", 0, 0)}}
}
