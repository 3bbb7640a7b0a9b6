package supernode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// Names of records and values that flwr.serverapp.FedAvg uses.
const (
	arraysName  = "arrays"
	configName  = "config"
	roundKey    = "server-round"
	examplesKey = "num-examples"
)

// lossKeys are the names under which the examples of Flower report a loss.
func lossKeys() []string { return []string{"eval_loss", "eval-loss", "loss", "test_loss", "val_loss"} }

// instruction returns the content of an instruction to train or to evaluate.
func (r *Run) instruction(prefix string, model record.Record, config flower.Config) record.Dict {
	values := record.FromConfig(config)
	if r.config.Records == FitIns {
		return record.Dict{{Name: prefix + ".parameters", Value: model}, {Name: prefix + ".config", Value: values}}
	}
	if _, has := values.Get(roundKey); !has {
		if round := r.round.Load(); round != 0 {
			values = append(values, record.Named[any]{Name: roundKey, Value: round})
		}
	}
	return record.Dict{{Name: arraysName, Value: model}, {Name: configName, Value: values}}
}

// fitRes reads the answer to an instruction to train.
func (r *Run) fitRes(content record.Dict) (*flower.FitRes, error) {
	if r.config.Records == FitIns {
		status, err := readStatus(content, "fitres")
		if err != nil {
			return nil, err
		}
		p, err := readParameters(content, "fitres")
		if err != nil {
			return nil, err
		}
		examples, metrics, err := r.examplesAndMetrics(content, "fitres")
		return &flower.FitRes{Status: status, Parameters: p, NumExamples: examples, Metrics: metrics}, err
	}
	p, err := r.layers(content)
	if err != nil {
		return nil, err
	}
	examples, metrics, err := r.reported(content)
	if err != nil {
		return nil, err
	}
	return &flower.FitRes{Parameters: p, NumExamples: examples, Metrics: metrics}, nil
}

// evaluateRes reads the answer to an instruction to evaluate.
func (r *Run) evaluateRes(content record.Dict) (*flower.EvaluateRes, error) {
	if r.config.Records == FitIns {
		status, err := readStatus(content, "evaluateres")
		if err != nil {
			return nil, err
		}
		loss, err := number(content, "evaluateres.loss", "loss")
		if err != nil {
			return nil, err
		}
		examples, metrics, err := r.examplesAndMetrics(content, "evaluateres")
		return &flower.EvaluateRes{Status: status, Loss: float32(loss), NumExamples: examples, Metrics: metrics}, err
	}
	examples, metrics, err := r.reported(content)
	if err != nil {
		return nil, err
	}
	for _, key := range lossKeys() {
		if value, has := metrics[key]; has {
			loss, ok := asNumber(value)
			if !ok {
				return nil, fmt.Errorf("the loss %q is a %T, expected a number", key, value)
			}
			delete(metrics, key)
			return &flower.EvaluateRes{Loss: float32(loss), NumExamples: examples, Metrics: metrics}, nil
		}
	}
	return nil, fmt.Errorf("the MetricRecord has no loss: the app must report it as %q", lossKeys()[0])
}

// layers returns the model of an answer, in the order of the run's layers.
func (r *Run) layers(content record.Dict) (flower.Parameters, error) {
	var found record.Arrays
	count := 0
	for _, member := range content {
		if arrays, ok := content.Arrays(member.Name); ok {
			found = arrays
			count++
		}
	}
	if count != 1 {
		return flower.Parameters{}, fmt.Errorf("the answer has %d ArrayRecords, expected one: "+
			"the app must return RecordDict({%q: ArrayRecord(...), \"metrics\": MetricRecord(...)})", count, arraysName)
	}
	if names := r.config.Names; names != nil {
		if len(found) == len(r.config.Whole) {
			names = r.config.Whole
		}
		ordered := make(record.Arrays, len(names))
		for i, name := range names {
			array, ok := found.Get(name)
			if !ok {
				return flower.Parameters{}, fmt.Errorf("the ArrayRecord has no layer %q, only %s", name, listed(found.Names()))
			}
			ordered[i] = record.Named[record.Array]{Name: name, Value: array}
		}
		if len(found) != len(names) {
			return flower.Parameters{}, fmt.Errorf("the ArrayRecord has %d layers, expected %d: %s", len(found), len(names), listed(found.Names()))
		}
		found = ordered
	}
	return found.Parameters()
}

// listed returns names for an error.
func listed(names []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%.60q", name))
	}
	if len(names) > most {
		quoted = append(quoted, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(quoted, ", ")
}

// reported returns the number of examples and the metrics of an answer.
func (r *Run) reported(content record.Dict) (int64, flower.Config, error) {
	var found record.Metrics
	count := 0
	for _, member := range content {
		if metrics, ok := content.Metrics(member.Name); ok {
			found = metrics
			count++
		}
	}
	if count != 1 {
		return 0, nil, fmt.Errorf("the answer has %d MetricRecords, expected one with %q", count, examplesKey)
	}
	value, has := found.Get(examplesKey)
	if !has {
		return 0, nil, fmt.Errorf("the MetricRecord has no %q, by which answers are weighted", examplesKey)
	}
	examples, err := wholeNumber(value)
	if err != nil {
		return 0, nil, fmt.Errorf("%q is %w", examplesKey, err)
	}
	metrics, lists := found.Scalars()
	r.note(lists)
	delete(metrics, examplesKey)
	return examples, metrics, nil
}

// note logs once which metrics are left out.
func (r *Run) note(lists []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range lists {
		if !r.noted[name] && len(r.noted) < 64 {
			r.noted[name] = true
			r.s.config.Logger.Warn("a metric is a list and is left out", "run", r.config.ID, "metric", fmt.Sprintf("%.60q", name))
		}
	}
}

// examplesAndMetrics reads what answers of a client_fn have in common.
func (r *Run) examplesAndMetrics(content record.Dict, prefix string) (int64, flower.Config, error) {
	value, err := metric(content, prefix+".num_examples", "num_examples")
	if err != nil {
		return 0, nil, err
	}
	examples, err := wholeNumber(value)
	if err != nil {
		return 0, nil, fmt.Errorf("%q is %w", "num_examples", err)
	}
	config, ok := content.Config(prefix + ".metrics")
	if !ok {
		return 0, nil, missing(prefix + ".metrics")
	}
	metrics, lists := config.Scalars()
	r.note(lists)
	return examples, metrics, nil
}

// readStatus returns the status of an answer, or a *flower.StatusError if it is not OK.
func readStatus(content record.Dict, prefix string) (flower.Status, error) {
	config, ok := content.Config(prefix + ".status")
	if !ok {
		return flower.Status{}, missing(prefix + ".status")
	}
	value, _ := config.Get("code")
	code, err := wholeNumber(value)
	if err != nil {
		return flower.Status{}, fmt.Errorf("the status code is %w", err)
	}
	text, _ := config.Get("message")
	message, _ := text.(string)
	status := flower.Status{Code: flower.Code(code), Message: message}
	if status.Code != flower.OK {
		return status, &flower.StatusError{Status: status}
	}
	return status, nil
}

// readParameters returns the model of an answer of a client_fn.
func readParameters(content record.Dict, prefix string) (flower.Parameters, error) {
	arrays, ok := content.Arrays(prefix + ".parameters")
	if !ok {
		return flower.Parameters{}, missing(prefix + ".parameters")
	}
	return arrays.Parameters()
}

// parametersRes reads the answer to a request for the client's model.
func parametersRes(content record.Dict) (*flower.ParametersRes, error) {
	status, err := readStatus(content, "getparametersres")
	if err != nil {
		return nil, err
	}
	p, err := readParameters(content, "getparametersres")
	return &flower.ParametersRes{Status: status, Parameters: p}, err
}

func missing(name string) error {
	return fmt.Errorf("the answer has no record %q: an app with client_fn has; one of the Message API needs the records %q", name, Arrays)
}

// metric returns a value of a MetricRecord.
func metric(content record.Dict, name, key string) (any, error) {
	metrics, ok := content.Metrics(name)
	if !ok {
		return nil, missing(name)
	}
	value, ok := metrics.Get(key)
	if !ok {
		return nil, fmt.Errorf("the record %q has no %q", name, key)
	}
	return value, nil
}

func number(content record.Dict, name, key string) (float64, error) {
	value, err := metric(content, name, key)
	if err != nil {
		return 0, err
	}
	n, ok := asNumber(value)
	if !ok {
		return 0, fmt.Errorf("%q is a %T, expected a number", key, value)
	}
	return n, nil
}

func asNumber(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// wholeNumber returns a count.
func wholeNumber(value any) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v), nil
		}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), nil
		}
	case nil:
		return 0, errors.New("missing, expected a whole number")
	}
	return 0, fmt.Errorf("%v (%T), expected a whole number", clip(value), value)
}

// clip shortens a value for an error.
func clip(value any) string {
	text := fmt.Sprint(value)
	if len(text) > 60 {
		return string(slices.Concat([]byte(text[:60]), []byte("...")))
	}
	return text
}
