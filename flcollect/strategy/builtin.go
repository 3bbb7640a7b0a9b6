package strategy

// builtin is a built-in strategy: its description, and how it is built from its parameters.
type builtin struct {
	name, meaning string
	meanOnly      bool // see [Description.MeanOnly]
	build         func(*reader) Strategy
}

// builtins returns the built-in strategies by name: all that the package, jobs, forms and secure
// aggregation know of them.
func builtins() []builtin {
	return []builtin{
		{
			name:    "Bulyan",
			meaning: "Krum and the trimmed mean together, against clients that work together.",
			build:   buildBulyan,
		}, {
			name:     "FaultTolerantFedAvg",
			meaning:  "Federated averaging that accepts a round from which clients are missing.",
			meanOnly: true,
			build:    buildTolerant,
		}, {
			name:     "FedAdagrad",
			meaning:  "The Adagrad optimizer at the server: steps shrink where parameters have moved much.",
			meanOnly: true,
			build:    buildAdagrad,
		}, {
			name:     "FedAdam",
			meaning:  "The Adam optimizer at the server: steps adapt to each parameter.",
			meanOnly: true,
			build:    buildAdam,
		}, {
			name:     "FedAvg",
			meaning:  "Federated averaging: the mean of the updates, weighted by their numbers of examples.",
			meanOnly: true,
			build:    buildMean,
		}, {
			name:     "FedAvgM",
			meaning:  "Federated averaging with momentum at the server, which smooths the way of the model.",
			meanOnly: true,
			build:    buildMomentum,
		}, {
			name:    "FedMedian",
			meaning: "The median of every parameter, which a minority of faulty clients cannot move far.",
			build:   buildMedian,
		}, {
			name:     "FedProx",
			meaning:  "Federated averaging with clients that are held close to the model, for data that differ much between clients.",
			meanOnly: true,
			build:    buildProx,
		}, {
			name:    "FedTrimmedAvg",
			meaning: "The mean of every parameter without its greatest and least values.",
			build:   buildTrimmed,
		}, {
			name:     "FedYogi",
			meaning:  "The Yogi optimizer at the server: as Adam, with steps that grow more carefully.",
			meanOnly: true,
			build:    buildYogi,
		}, {
			name:    "Krum",
			meaning: "The one update that lies closest to the others, so that faulty clients have no say.",
			build:   buildKrum,
		}, {
			name:    "MultiKrum",
			meaning: "The mean of the updates that lie closest to the others.",
			build:   buildMultiKrum,
		}, {
			name:    "QFedAvg",
			meaning: "Fair averaging: clients with a high loss count more, so that the model serves all alike.",
			build:   buildFair,
		}, {
			name:     "avg",
			meaning:  "Federated averaging: the mean of the updates, weighted by their numbers of examples. Another name of FedAvg.",
			meanOnly: true,
			build:    buildMean,
		},
	}
}

// find returns the built-in strategy of a name.
func find(name string) (builtin, bool) {
	for _, one := range builtins() {
		if one.name == name {
			return one, true
		}
	}
	return builtin{}, false
}

// Names returns the names of the built-in strategies, sorted. "avg" is another
// name of FedAvg.
func Names() []string {
	var names []string
	for _, one := range builtins() {
		names = append(names, one.name)
	}
	return names
}

// Known reports whether there is a built-in strategy of the name.
func Known(name string) bool {
	_, ok := find(name)
	return ok
}
