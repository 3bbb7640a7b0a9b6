package function

// grel returns a parameter of GREL functions. In FnO a parameter has a name,
// param_s, and its predicate has another, p_string_s; mappings use both.
func grel(names ...string) Parameter { return parameter(nsGREL, names...) }

// The parameters that several groups of GREL functions share.
func grelValue() Parameter {
	return grel("valueParam", "valueParameter", "param_string_s", "p_string_s", "param_s", "p_any_e", "param_any_e")
}

func grelValue2() Parameter {
	return grel("valueParam2", "valueParameter2", "param_string_s2", "p_string_s2")
}

func grelSeparator() Parameter {
	return grel("param_string_sep", "p_string_sep", "param_sep", "p_sep", "param_string_regex", "p_string_regex")
}

func grelSub() Parameter {
	return grel("param_string_sub", "string_sub", "p_string_sub", "param_sub", "p_sub")
}

func grelFrom() Parameter {
	return grel("p_int_i_from", "param_int_i_from", "param_i_from", "i_from", "int_i_from")
}

func grelTo() Parameter {
	return grel("p_int_i_opt_to", "param_int_i_opt_to", "p_int_i_to", "param_int_i_to", "param_i_opt_to",
		"i_opt_to").optional()
}

func grelArray() Parameter {
	return grel("param_a", "p_array_a", "param_array_a", "p_a", "array_a").list()
}

func grelFlag() Parameter { return grel("param_bool_opt_b", "p_bool_opt_b").optional() }

// grelFunction returns a GREL function. Its output has all names that FnO has
// for outputs, because descriptions of GREL differ in them.
func grelFunction(name string, result result, apply func(Call) ([]string, error), parameters ...Parameter) Function {
	f := Function{
		Namespace:  nsGREL,
		Name:       name,
		Parameters: parameters,
		Outputs:    []string{nsGREL + "stringOut", nsGREL + "stringOutput"},
		Datatypes:  result.datatypes(),
		Apply:      apply,
	}
	for _, kind := range []string{
		"string", "number", "int", "dec", "decimal", "bool", "array", "any", "date", "datetime",
	} {
		f.Outputs = append(f.Outputs, nsGREL+"output_"+kind, nsGREL+"o_"+kind)
	}
	return f
}
