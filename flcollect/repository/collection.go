package repository

// collection is a kind of records.
type collection struct {
	name string // the prefix of its keys
	// form is the form of a record, meta that of the body that changes one.
	form, meta form
	// names are the members that identify a record, file is the member that
	// names its file.
	names []string
	file  string
	// exists and missing are the messages of the REST interface.
	exists, missing string
}

// The collections. Members are in the order in which the original answers them.

func models() collection {
	meta := object(field{name: "library", form: text}, field{name: "description", form: text})
	return collection{
		name: "model", names: []string{"model_name", "model_version"}, file: "model_id",
		form: object(
			field{name: "model_name", form: name, required: true},
			field{name: "model_version", form: name, required: true},
			field{name: "model_id", form: nothing},
			field{name: "meta", form: meta},
		),
		meta:    meta,
		exists:  "Model with this name and version already in repository",
		missing: "model not found",
	}
}

func results() collection {
	return collection{
		name: "result", names: []string{"model_name", "model_version", "training_id"}, file: "weights_id",
		form: object(
			field{name: "model_name", form: name, required: true},
			field{name: "model_version", form: name, required: true},
			field{name: "training_id", form: name, required: true},
			field{name: "results", form: mapping(text)},
			field{name: "weights_id", form: nothing},
			field{name: "configuration_id", form: name},
			field{name: "run", form: integer, sparse: true}, // these the original does not have
			field{name: "run_id", form: name, sparse: true},
		),
		exists:  "This training id of a model of this name and version already in repository",
		missing: "Training results not found",
	}
}

func strategies() collection {
	return collection{
		name: "strategy", names: []string{"strategy_name"}, file: "strategy_id",
		form: object(
			field{name: "meta", form: mapping(text)},
			field{name: "strategy_name", form: name, required: true},
			field{name: "strategy_description", form: text},
			field{name: "strategy_id", form: nothing},
		),
		meta:    object(field{name: "meta", form: mapping(text), required: true}),
		exists:  "Strategy already exists",
		missing: "Strategy not found",
	}
}

func collectors() collection {
	return collection{
		name: "collector", names: []string{"name", "version"},
		form: object(
			field{name: "meta", form: mapping(text)},
			field{name: "name", form: name, required: true},
			field{name: "version", form: integer, required: true},
			field{name: "collector_id", form: nothing},
		),
		exists: "Collector already exists",
	}
}

func transformations() collection {
	whole := object(
		field{name: "id", form: name, required: true},
		field{name: "description", form: text},
		field{name: "parameter_types", form: mapping(text)},
		field{name: "default_values", form: mapping(anything)},
		field{name: "outputs", form: list(text)},
		field{name: "needs", required: true, form: object(
			field{name: "storage", form: number},
			field{name: "RAM", form: number},
			field{name: "GPU", form: truth, otherwise: false},
			field{name: "preinstalled_libraries", form: mapping(text)},
			field{name: "available_models", form: mapping(text)},
		)},
		field{name: "storage_id", form: nothing},
	)
	return collection{
		name: "transformation", names: []string{"id"}, file: "storage_id",
		form: whole, meta: whole,
		exists:  "Transformation with this id already exists",
		missing: "Transformation not found",
	}
}

// nothing is the form of a member that the repository sets by itself.
func nothing(any, []any, *faults) any { return nil }

// key returns the key of a record.
func (c collection) key(names ...string) string { return joinKey(c.name, names...) }

// recordKey returns the key of a given record.
func (c collection) recordKey(r record) string {
	names := make([]string, len(c.names))
	for i, name := range c.names {
		names[i] = r.text(name)
	}
	return c.key(names...)
}
