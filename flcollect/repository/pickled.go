package repository

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// errForeign is matched by the error of a pickle that is no strategy with a
// built-in counterpart.
var errForeign = errors.New("it is no strategy of Flower that is built in here")

// readPickled reads what class of strategy a pickle holds an instance of, and its
// parameters. The built-in strategy of that name takes its place: nothing of the
// pickle is run. What the collector does itself is passed over, which are the
// functions that aggregate metrics and the initial parameters; other functions
// would be missed, and are refused.
func readPickled(from io.Reader) (class string, conf strategy.Conf, err error) {
	v, err := unpickle(from)
	if err != nil {
		return "", nil, err
	}
	object, ok := v.(*pickledObject)
	if !ok {
		return "", nil, errForeign
	}
	name := string(object.class)
	class = name[strings.LastIndex(name, ".")+1:]
	if !strings.HasPrefix(name, "flwr.server.strategy.") || class == "avg" || !strategy.Known(class) {
		return "", nil, fmt.Errorf("%w: it is a %.200q, and no Python is run", errForeign, name)
	}
	for _, function := range []string{"evaluate_fn", "on_fit_config_fn", "on_evaluate_config_fn"} {
		if object.state[function] != nil {
			return "", nil, fmt.Errorf("%w: it has an %s, and no Python is run", errForeign, function)
		}
	}
	conf = strategy.Conf{}
	for attribute, field := range attributesOf(class) {
		switch v := object.state[attribute].(type) {
		case nil:
		case bool, int64, float64, string:
			conf[field] = v
		default:
			return "", nil, fmt.Errorf("%w: its %s is no plain number", errForeign, attribute)
		}
	}
	return class, conf, nil
}

// attributesOf are the attributes that Flower keeps the parameters of a strategy
// in, with the names of the parameters.
func attributesOf(class string) map[string]string {
	fields := map[string]string{}
	for _, name := range []string{
		"fraction_fit", "fraction_evaluate", "min_fit_clients", "min_evaluate_clients", "min_available_clients", "accept_failures",
	} {
		fields[name] = name
	}
	var own []string
	switch class {
	case "FaultTolerantFedAvg":
		delete(fields, "accept_failures") // it has the attribute, and not the parameter
		fields["completion_rate_fit"], fields["completion_rate_evaluate"] = "min_completion_rate_fit", "min_completion_rate_evaluate"
	case "QFedAvg":
		own = []string{"q_param"}
		fields["learning_rate"] = "qffl_learning_rate"
	case "FedAvgM":
		own = []string{"server_learning_rate", "server_momentum"}
	case "FedAdam", "FedYogi":
		own = []string{"eta", "eta_l", "tau", "beta_1", "beta_2"}
	case "FedAdagrad":
		own = []string{"eta", "eta_l", "tau"}
	case "FedProx":
		own = []string{"proximal_mu"}
	case "FedTrimmedAvg":
		own = []string{"beta"}
	case "Krum", "MultiKrum":
		own = []string{"num_malicious_clients", "num_clients_to_keep"}
	case "Bulyan":
		own = []string{"num_malicious_clients"}
	}
	for _, name := range own {
		fields[name] = name
	}
	return fields
}
