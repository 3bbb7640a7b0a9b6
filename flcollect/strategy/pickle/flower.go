package pickle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Functions of Flower that are default attributes of strategies.
var (
	aggregateKrum   = global{"flwr.server.strategy.aggregate", "aggregate_krum"}
	selectMultiKrum = global{"flwr.serverapp.strategy.multikrum", "select_multikrum"}
)

// attribute maps an attribute of a strategy to a parameter of another name, or
// to nothing. If only is set, any other value is refused.
type attribute struct {
	parameter string
	only      func(value any) bool
}

// family is the common part of the strategies of a module of Flower.
type family struct {
	module  string            // the package of their modules
	classes map[string]string // the module of each class with a built-in equivalent
	common  map[string]attribute
	// corrected is whether its FedAdam corrects the bias of its first rounds: which
	// release of flwr.server made a pickle cannot be seen.
	corrected bool
}

func same(value any) func(any) bool {
	return func(given any) bool { return given == value } // none that is compared is a tuple
}

func dropped() attribute                 { return attribute{} }
func onlyIf(value any) attribute         { return attribute{only: same(value)} }
func renamed(parameter string) attribute { return attribute{parameter: parameter} }

// findFamily returns the family of a class, or nil without a built-in equivalent.
func findFamily(class global) *family {
	for _, f := range []*family{server(), serverApp()} {
		if module, ok := f.classes[class.name]; ok && class.module == f.module+module {
			return f
		}
	}
	return nil
}

// server are the strategies of flwr.server, from version 1.0 on.
func server() *family {
	return &family{
		module: "flwr.server.strategy.",
		classes: map[string]string{
			"FedAvg": "fedavg", "FedAvgM": "fedavgm", "FedAdam": "fedadam", "FedYogi": "fedyogi", "FedAdagrad": "fedadagrad",
			"FedMedian": "fedmedian", "FedProx": "fedprox", "FedTrimmedAvg": "fedtrimmedavg", "QFedAvg": "qfedavg",
			"FaultTolerantFedAvg": "fault_tolerant_fedavg", "Krum": "krum", "Bulyan": "bulyan",
		},
		common: map[string]attribute{
			"fraction_fit": renamed("fraction_fit"), "fraction_evaluate": renamed("fraction_evaluate"),
			"min_fit_clients": renamed("min_fit_clients"), "min_evaluate_clients": renamed("min_evaluate_clients"),
			"min_available_clients": renamed("min_available_clients"), "accept_failures": renamed("accept_failures"),
			"evaluate_fn": onlyIf(nil), "on_fit_config_fn": onlyIf(nil), "on_evaluate_config_fn": onlyIf(nil),
			"fit_metrics_aggregation_fn": dropped(), "evaluate_metrics_aggregation_fn": dropped(), // metrics are aggregated here
			"initial_parameters": dropped(), // see initial
			"inplace":            dropped(), // the sum is the same
		},
	}
}

// serverApp are the strategies of flwr.serverapp, which has other names.
func serverApp() *family {
	return &family{
		module:    "flwr.serverapp.strategy.",
		corrected: true,
		classes: map[string]string{
			"FedAvg": "fedavg", "FedAvgM": "fedavgm", "FedAdam": "fedadam", "FedYogi": "fedyogi", "FedAdagrad": "fedadagrad",
			"FedMedian": "fedmedian", "FedProx": "fedprox", "FedTrimmedAvg": "fedtrimmedavg",
			"Krum": "krum", "MultiKrum": "multikrum", "Bulyan": "bulyan",
		},
		common: map[string]attribute{
			"fraction_train": renamed("fraction_fit"), "fraction_evaluate": renamed("fraction_evaluate"),
			"min_train_nodes": renamed("min_fit_clients"), "min_evaluate_nodes": renamed("min_evaluate_clients"),
			"min_available_nodes": renamed("min_available_clients"),
			"weighted_by_key":     onlyIf("num-examples"),
			"arrayrecord_key":     dropped(), "configrecord_key": dropped(), // of another protocol
			"train_metrics_aggr_fn": dropped(), "evaluate_metrics_aggr_fn": dropped(), // metrics are aggregated here
			"current_arrays": dropped(),
		},
	}
}

// own returns the attributes of a class beyond those of its family.
func own(name string) map[string]attribute {
	switch name {
	case "FaultTolerantFedAvg":
		return map[string]attribute{
			"completion_rate_fit":      renamed("min_completion_rate_fit"),
			"completion_rate_evaluate": renamed("min_completion_rate_evaluate"),
			"accept_failures":          dropped(), // it uses the rates
		}
	case "FedAvgM":
		return map[string]attribute{
			"server_learning_rate": renamed("server_learning_rate"), "server_momentum": renamed("server_momentum"),
			"server_opt": dropped(), "momentum_vector": dropped(),
		}
	case "FedAdam", "FedYogi":
		return optimiser(renamed("beta_1"), renamed("beta_2"))
	case "FedAdagrad":
		return optimiser(onlyIf(0.0), onlyIf(0.0))
	case "FedProx":
		return map[string]attribute{"proximal_mu": renamed("proximal_mu")}
	case "FedTrimmedAvg":
		return map[string]attribute{"beta": renamed("beta")}
	case "QFedAvg":
		return map[string]attribute{
			"q_param": renamed("q_param"), "learning_rate": renamed("qffl_learning_rate"), "pre_weights": dropped(),
		}
	case "Krum", "MultiKrum", "Bulyan":
		return selections(name)
	}
	return nil
}

// optimiser returns the attributes of the FedOpt family.
func optimiser(beta1, beta2 attribute) map[string]attribute {
	return map[string]attribute{
		"eta": renamed("eta"), "eta_l": renamed("eta_l"), "tau": renamed("tau"), "beta_1": beta1, "beta_2": beta2,
		"current_weights": dropped(), "m_t": dropped(), "v_t": dropped(),
	}
}

// selections returns the attributes of rules that select updates.
func selections(name string) map[string]attribute {
	made := map[string]attribute{
		"num_malicious_clients": renamed("num_malicious_clients"), "num_malicious_nodes": renamed("num_malicious_clients"),
	}
	switch name {
	case "Krum":
		made["num_clients_to_keep"] = renamed("num_clients_to_keep")
		made["num_nodes_to_select"] = onlyIf(int64(1))
	case "MultiKrum":
		made["num_nodes_to_select"] = renamed("num_clients_to_keep")
	case "Bulyan":
		made["first_aggregation_rule"], made["selection_rule"] = onlyIf(aggregateKrum), onlyIf(selectMultiKrum)
		made["aggregation_rule_kwargs"] = attribute{only: func(value any) bool {
			d, ok := value.(*dict)
			return ok && len(d.items) == 0
		}}
	}
	return made
}

// convert converts the attributes of a strategy to parameters.
func convert(m *machine, made *object) (Stored, error) {
	stored := Stored{Class: made.class.String(), Name: made.class.name, Conf: strategy.Conf{}}
	if made.state == nil {
		return stored, nil
	}
	of := findFamily(made.class)
	known := of.common
	maps.Copy(known, own(made.class.name))
	if of.corrected && stored.Name == "FedAdam" {
		stored.Conf["bias_correction"] = true
	}
	for _, name := range slices.Sorted(maps.Keys(made.state.items)) {
		value := made.state.items[name]
		to, ok := known[name]
		switch {
		case !ok:
			return stored, fmt.Errorf("attribute %.200q is not known", name)
		case to.only != nil && !to.only(value):
			return stored, fmt.Errorf("attribute %q is %s, which has no equal here", name, describe(value))
		case to.parameter == "":
			continue
		}
		switch value.(type) {
		case bool, int64, float64:
			stored.Conf[to.parameter] = value
		default:
			return stored, fmt.Errorf("attribute %q is %s, and no number", name, describe(value))
		}
	}
	var err error
	stored.Initial, err = initial(m, made.state.items["initial_parameters"])
	return stored, err
}

// initial reads the initial parameters of a strategy.
func initial(m *machine, value any) (strategy.Model, error) {
	if value == nil {
		return nil, nil
	}
	given, ok := value.(*object)
	if !ok || given.class.name != "Parameters" || given.state == nil {
		return nil, fmt.Errorf("attribute %q is %s", "initial_parameters", describe(value))
	}
	if kind, _ := given.state.items["tensor_type"].(string); !strings.HasPrefix(kind, "numpy") {
		return nil, fmt.Errorf("initial_parameters are of type %.200q", kind)
	}
	files, ok := given.state.items["tensors"].(*list)
	if !ok {
		return nil, fmt.Errorf("initial_parameters have no tensors")
	}
	model := make(strategy.Model, len(files.items))
	for i, item := range files.items {
		file, ok := item.([]byte)
		if !ok {
			return nil, fmt.Errorf("tensor %d of initial_parameters is %s", i, describe(item))
		}
		if !m.spend(len(file)) {
			return nil, m.err
		}
		var err error
		if model[i], err = tensor.Decode(file); err != nil {
			return nil, fmt.Errorf("tensor %d of initial_parameters: %w", i, err)
		}
	}
	return model, nil
}
