package strategy

import (
	"slices"
	"strings"
)

// Names returns the names of the built-in strategies, sorted. "avg" is another
// name of FedAvg.
func Names() []string {
	return []string{"Bulyan", "FaultTolerantFedAvg", "FedAdagrad", "FedAdam", "FedAvg", "FedAvgM", "FedMedian",
		"FedProx", "FedTrimmedAvg", "FedYogi", "Krum", "MultiKrum", "QFedAvg", "avg"}
}

// Known reports whether there is a built-in strategy of the name.
func Known(name string) bool { return slices.Contains(Names(), name) }

// New returns the built-in strategy of the name with its parameters; those that
// are not given have the defaults of Flower 1.3.0, or of 1.11 for the rules that
// came later. FedAdam corrects the bias of its first rounds, as Flower's does since
// 1.13, only where bias_correction is true. The error is a *[FieldError]: for an unknown name, an unknown
// parameter, or a value out of range.
func New(name string, conf Conf) (Strategy, error) {
	r := newReader(name, conf)
	made := build(name, r)
	if made == nil {
		return nil, &FieldError{name, "strategy", "there is none of this name; built in are " + strings.Join(Names(), ", ")}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return made, nil
}

// build returns nil for an unknown name.
func build(name string, r *reader) Strategy {
	switch name {
	case "avg", "FedAvg":
		return mean{policy: r.failures(r.policy(2))}
	case "FedProx":
		p := r.failures(r.policy(2))
		r.Require("proximal_mu")
		return prox{mean{policy: p}, r.Number("proximal_mu", 0, 0, anything)}
	case "FaultTolerantFedAvg":
		p := r.policy(1)
		p.Fit.MinCompletion = r.Number("min_completion_rate_fit", 0.5, 0, 1)
		p.Evaluate.MinCompletion = r.Number("min_completion_rate_evaluate", 0.5, 0, 1)
		return mean{policy: p}
	case "FedAvgM":
		return &momentum{
			policy: r.failures(r.policy(2)),
			rate:   r.Number("server_learning_rate", 1, 0, anything),
			share:  r.Number("server_momentum", 0, 0, anything),
		}
	case "FedAdam", "FedYogi", "FedAdagrad":
		return buildAdaptive(name, r)
	case "QFedAvg":
		return fair{
			policy: r.failures(r.policy(1)),
			q:      r.Number("q_param", 0.2, 0, anything),
			rate:   r.Number("qffl_learning_rate", 0.1, 1e-300, anything),
		}
	}
	return buildRobust(name, r)
}

// buildAdaptive returns a member of the FedOpt family.
func buildAdaptive(name string, r *reader) Strategy {
	a := &adaptive{policy: r.failures(r.policy(2)), second: adam}
	eta, etaL, tau := 0.1, 0.1, 1e-9
	switch name {
	case "FedYogi":
		eta, etaL, tau, a.second = 0.01, 0.0316, 1e-3, yogi
	case "FedAdagrad":
		a.second = adagrad
	}
	a.eta = r.Number("eta", eta, 0, anything)
	r.Number("eta_l", etaL, 0, anything) // a parameter of Flower that has no effect
	a.tau = r.Number("tau", tau, 0, anything)
	if name != "FedAdagrad" {
		a.beta1 = r.Number("beta_1", 0.9, 0, 1)
		a.beta2 = r.Number("beta_2", 0.99, 0, 1)
	}
	if name == "FedAdam" {
		if a.corrected = r.Truth("bias_correction", false); a.corrected && a.beta1 == 1 {
			r.Fail("beta_1", "is 1, which has no bias correction")
		}
	}
	return a
}

// buildRobust returns a strategy that uses all updates at once.
func buildRobust(name string, r *reader) Strategy {
	var rule rule
	p := r.failures(r.policy(2))
	switch name {
	case "FedMedian":
		rule = median{}
	case "FedTrimmedAvg":
		rule = trimmed{beta: r.Number("beta", 0.2, 0, 0.5)}
	case "Krum", "MultiKrum":
		k := krum{malicious: r.Count("num_malicious_clients", 0, 0), keep: r.Count("num_clients_to_keep", 0, 0)}
		if name == "MultiKrum" && k.keep == 0 {
			k.keep = 1
		}
		rule = k
	case "Bulyan":
		rule = bulyan{malicious: r.Count("num_malicious_clients", 0, 0)}
	default:
		return nil
	}
	return robust{policy: p, rule: rule}
}
