package strategy

import "github.com/iotenablers/enablers/flcollect/internal/conf"

// Description says what a strategy does, and with which parameters.
type Description struct {
	// Name is the name by which jobs select the strategy.
	Name string
	// Meaning is a sentence about what it does.
	Meaning string
	// MeanOnly says that the strategy needs nothing of the updates but their mean, as secure
	// aggregation has it.
	MeanOnly bool
	// Parameters are in the order in which they should be shown: those of every strategy
	// come first.
	Parameters []Parameter
}

// Parameter describes a parameter of a strategy or of a privacy mechanism.
type Parameter = conf.Parameter

// Describe returns the description of a built-in strategy. Defaults and bounds are those
// that [New] applies.
func Describe(name string) (Description, bool) {
	one, ok := find(name)
	if !ok {
		return Description{}, false
	}
	r := newReader(name, nil)
	one.build(r)
	return Description{Name: name, Meaning: one.meaning, MeanOnly: one.meanOnly, Parameters: r.Parameters(parameterMeanings)}, true
}

// DescribeBounds returns the parameters of [NewBounded].
func DescribeBounds() []Parameter {
	r := newReader(NormBounding, nil)
	readBounds(r, nil)
	return r.Parameters(parameterMeanings)
}

// parameterMeanings are the sentences about the parameters of the built-in strategies and
// of norm bounding.
var parameterMeanings = map[string]string{
	"fraction_fit":                 "The share of the connected clients that trains in a round.",
	"min_fit_clients":              "The least number of clients that train in a round.",
	"fraction_evaluate":            "The share of the connected clients that evaluates the model after a round; 0 evaluates none.",
	"min_evaluate_clients":         "The least number of clients that evaluate.",
	"min_available_clients":        "How many clients must be connected before a round begins.",
	"accept_failures":              "Whether a round counts although a client fails.",
	"proximal_mu":                  "How strongly clients are held close to the model; 0 is federated averaging.",
	"min_completion_rate_fit":      "The share of updates that must arrive for a round to count.",
	"min_completion_rate_evaluate": "The share of evaluations that must arrive for an evaluation to count.",
	"server_learning_rate":         "The step of the server towards the mean of the updates.",
	"server_momentum":              "The share of the last step that is part of the next one.",
	"eta":                          "The learning rate of the server.",
	"eta_l":                        "The learning rate of clients in Flower's signature. It has no effect.",
	"tau":                          "How much the steps adapt: the smaller, the more.",
	"beta_1":                       "The share of the average of past steps that is kept.",
	"beta_2":                       "The share of the average of past squared steps that is kept.",
	"bias_correction":              "Whether the first steps are scaled as in Flower 1.13 and newer; earlier releases do not.",
	"q_param":                      "How much a high loss counts; 0 is federated averaging.",
	"qffl_learning_rate":           "The learning rate of the clients, by which updates are scaled.",
	"beta":                         "The share of the values that is cut off at either end.",
	"num_malicious_clients":        "How many faulty clients the strategy should withstand.",
	"num_clients_to_keep":          "How many of the closest updates are averaged; 0 takes the closest one.",
	"norm_bound":                   "The greatest distance of an update from the model. None unless given.",
	"norm_factor":                  "The same in medians of the distances in the round.",
	"norm_min_updates":             "How many updates a round needs for that median.",
	"norm_refuse_factor":           "An update further away than so many bounds is refused. None is unless given.",
	"norm_clip":                    "Whether updates beyond the bound are shortened to it, and not only reported.",
	"norm_taper":                   "Whether such an update counts the less, the further away it is.",
}
