package jobform

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/form"
)

// The members of a configuration that have members for which the form has fields.
const (
	atServer      = "server_conf."
	atStrategy    = "strategy_conf."
	atClient      = "client_conf."
	atPrivacy     = "privacy-mechanisms."
	atHomomorphic = atPrivacy + jobconfig.Homomorphic
	atSecAgg      = atPrivacy + jobconfig.SecAgg
	atDP          = atPrivacy + dp.Mechanism
)

// text returns a field for one line. A path makes it a member of the configuration.
func text(name, path, label, hint, usual string) form.Field {
	return form.Field{Name: name, Path: path, Label: label, Hint: hint, Placeholder: usual, Kind: form.Scalar, Sparse: true, MaxLength: 1024}
}

func words(name, path, label, hint, usual string) form.Field {
	f := text(name, path, label, hint, usual)
	f.Kind = form.Words
	return f
}

func required(f form.Field) form.Field {
	f.Required = true
	return f
}

// name returns a required field for a text that may look like a number.
func name(path, label, hint string) form.Field {
	f := required(text(path, path, label, hint, ""))
	f.Kind = form.Text
	return f
}

// sections returns the fields of the form in a group for each section.
func sections() form.Fields {
	common, _ := strategy.Describe(jobconfig.Averaging)
	for i, p := range common.Parameters {
		if strings.HasPrefix(p.Name, "min_") {
			common.Parameters[i].Default = nil // the form has a field for all of them
		}
	}
	return form.Fields{
		section("training",
			name("model_name", "Model", "The model by its name in the repository."),
			name("model_version", "Version of the model", ""),
			text("rounds", atServer+"num_rounds", "Rounds", "How often the clients train, and the server makes one model of theirs.", "1"),
			text("clients", "", "Clients",
				"How many must be connected, and train in each round. With a sampling rate, each is drawn by chance.", ""),
			text("id", "", "Identifier of the job", "", "one is made"),
			name("configuration_id", "Identifier of the configuration", "A whole number, under which the result is stored.")),
		section("strategy",
			form.Field{Name: "strategy", Label: "How updates become one model", Kind: form.Choice}),
		section("other", text("strategyName", "", "Name of the strategy", "As it is called in the repository.", "")),
		section("choosing", append(parameters("conf.", atStrategy, common.Parameters), text("timeout", atServer+"round_timeout",
			"Time for each phase of a round, in seconds", "Clients that take longer count as failed.", "no limit"))...),
		section("without rounds", form.Field{Name: "async", Path: atServer + "async", Kind: form.Check,
			Label: "Train without rounds: slow clients hold up no others"}),
		section("async", parameters("async.", atServer+"async.", jobconfig.AsyncParameters())...),
		section("bounds", parameters("bounds.", atStrategy, boundParameters())...),
		section("further", form.Field{Name: "further", Path: "strategy_conf", Kind: form.Area, Rows: 3, Label: "Parameters of the strategy",
			Hint: "A line for each, NAME: VALUE."}),
		section("clients",
			required(text("client.epochs", atClient+"epochs", "Epochs in a round", "How often a client goes through its data.", "")),
			text("client.learning_rate", atClient+"learning_rate", "Learning rate", "", "0.05"),
			text("client.batch_size", atClient+"batch_size", "Batch size", "", "32"),
			text("client.steps_per_epoch", atClient+"steps_per_epoch", "Steps in an epoch", "", "3")),
		section("app",
			text("app", "app", "App", "As publisher/name, with or without ==version, one of those that the server has.", "no SuperNodes"),
			form.Field{Name: "records", Path: atServer + "records", Label: "Kind of the app", Kind: form.Scalar, Sparse: true,
				Options: []form.Option{{Label: "Message API, @app.train"},
					{Value: jobconfig.FitIns, Label: "client_fn, a Client or NumPyClient"}}}),
		section("speed",
			text("tiers", atServer+"sampling.tiers", "Tiers of speed",
				"A round draws its clients from one tier, so that the fast do not wait for the slow.", "all in one"),
			words("local_layers", atServer+"local_layers", "Layers that stay at the clients",
				"Names or numbers, from 0, with commas between them. The others are trained together.", "none"),
			words("compression", atServer+"compression", "Compression that is announced to clients",
				"Any of float16, int8 and topk. Updates of every kind are read, announced or not.", "none")),
		section("further settings",
			form.Field{Name: "client.further", Kind: form.Area, Rows: 3, Label: "Settings for the clients",
				Hint: "A line for each, NAME: VALUE. Clients get them as they are."},
			form.Field{Name: "targets", Path: "stopping_target", Kind: form.Area, Rows: 3, Label: "End early when a metric is more than",
				Hint: `A line for each, METRIC: VALUE, such as accuracy: 0.95. A loss falls: loss: {"below": 0.1, "patience": 3} ` +
					"waits for three rounds in a row."}),
		section("privacy",
			form.Field{Name: "dp", Path: atDP, Kind: form.Check,
				Label: "Differential privacy: noise hides what any one client has contributed"},
			form.Field{Name: jobconfig.Homomorphic, Path: atHomomorphic, Kind: form.Check,
				Label: "Homomorphic encryption: the server adds updates that it cannot read"},
			form.Field{Name: jobconfig.SecAgg, Path: atSecAgg, Kind: form.Check,
				Label: "Secure aggregation: the server adds updates that clients have masked"}),
		section("dp", parameters("dp.", atDP+".", privacyParameters())...),
		section(jobconfig.Homomorphic,
			text("homomorphic.poly_modulus_degree", atHomomorphic+".poly_modulus_degree", "Degree of the ring",
				"A power of two from 1024 to 32768.", "that of the keys"),
			words("homomorphic.coeff_mod_bit_sizes", atHomomorphic+".coeff_mod_bit_sizes", "Sizes of the moduli in bits",
				"Such as 60, 40, 40.", "those of the keys"),
			text("homomorphic.scale_bits", atHomomorphic+".scale_bits", "Scale, as a power of two", "", "that of the keys")),
		section(jobconfig.SecAgg, parameters(jobconfig.SecAgg+".", atSecAgg+".", maskingParameters())...),
	}
}

func section(name string, fields ...form.Field) form.Field {
	return form.Field{Name: name, Kind: form.Group, Fields: fields}
}

func parameters(prefix, path string, all []strategy.Parameter) form.Fields {
	fields := make(form.Fields, len(all))
	for i, p := range all {
		fields[i] = parameter(prefix, path, p)
	}
	return fields
}

// parameter returns the field of a parameter.
func parameter(prefix, path string, p strategy.Parameter) form.Field {
	f := form.Field{Name: prefix + p.Name, Path: path + p.Name, Label: p.Name, IsIdentifier: true, Hint: p.Meaning,
		Placeholder: usualText(p.Default), Kind: form.Scalar, Sparse: true, Step: "any"}
	if p.Kind == "boolean" {
		f.Options = []form.Option{{Label: "as the server has it"}, {Value: "true", Label: "yes"}, {Value: "false", Label: "no"}}
		if p.Default != nil {
			f.Options[0].Label = f.Placeholder + ", by default"
		}
		return f
	}
	if p.Kind == "integer" {
		f.Step = "1"
	}
	if !math.IsInf(p.Least, 0) {
		f.Low = fmt.Sprint(p.Least)
	}
	if !math.IsInf(p.Most, 0) {
		f.High = fmt.Sprint(p.Most)
	}
	if f.Low != "" && f.High != "" {
		f.Hint += " " + f.Low + " to " + f.High + "."
	}
	return f
}

// usualText returns a default as text, empty if there is none.
func usualText(value any) string {
	switch given := value.(type) {
	case nil:
		return ""
	case bool:
		if given {
			return "yes"
		}
		return "no"
	case float64:
		return strconv.FormatFloat(given, 'g', -1, 64)
	default:
		return fmt.Sprint(given)
	}
}

// boundParameters returns the parameters of norm bounding with the defaults of the server in place
// of those of the strategy. Whether updates are cut depends on the server and on the job.
func boundParameters() []strategy.Parameter {
	all := strategy.DescribeBounds()
	for i, p := range all {
		switch p.Name {
		case "norm_factor":
			all[i].Default = flcollect.DefaultNormFactor
		case "norm_min_updates":
			all[i].Default = flcollect.DefaultNormMinUpdates
		case "norm_clip", "norm_taper":
			all[i].Default = nil
		}
	}
	return all
}

// privacyParameters returns the parameters of differential privacy with those first that decide
// on epsilon.
func privacyParameters() []strategy.Parameter {
	all, first := dp.Parameters(), []string{"noise_multiplier", "num_sampled_clients", "epsilon_budget", "delta"}
	place := func(p strategy.Parameter) int {
		if i := slices.Index(first, p.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(all, func(a, b strategy.Parameter) int { return place(a) - place(b) })
	for i, p := range all {
		switch p.Name {
		case "num_sampled_clients":
			all[i].Default = "the clients above"
		case "clip_count_stddev":
			all[i].Default = "clients / 20"
		case "epsilon_budget":
			all[i].Default = "no budget"
		}
	}
	return all
}

// maskingParameters returns the parameters of secure aggregation.
func maskingParameters() []strategy.Parameter {
	number := func(name, meaning, kind string, usual any) strategy.Parameter {
		return strategy.Parameter{Name: name, Meaning: meaning, Kind: kind, Default: usual, Least: math.Inf(-1), Most: math.Inf(1)}
	}
	return []strategy.Parameter{
		number("num_shares", "Among how many clients each divides its secrets: from 3, or a fraction of the clients of a round.", "number", "31"),
		number("reconstruction_threshold", "How many of these shares restore a secret: from 2, or a fraction of the shares.", "number",
			"two thirds"),
		number("max_weight", "The number of examples at which a client's weight is 1.", "number", 1000.0),
		number("clipping_range", "Clients clip each number of an update, times its weight, to this range.", "number", 8.0),
		number("quantization_range", "Into how many steps clients divide that range.", "integer", int64(1)<<22),
		number("modulus_range", "The modulus of the sums, a power of 2.", "integer", int64(1)<<32),
		number("timeout", "Time for each of the four stages, in seconds.", "number", "that of a phase"),
	}
}
