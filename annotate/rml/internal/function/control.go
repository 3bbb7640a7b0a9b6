package function

import (
	"encoding/json"
	"slices"
)

// grelControls are the functions of GREL on truth values and on values that
// may be missing, and those that the conditions of FNML need.
func grelControls() []Function {
	flag := grel("param_b", "bool_b", "p_bool_b", "param_bool_b", "p_b", "valueParam", "valueParameter")
	flags := grel("bool_array_b", "param_rep_b", "p_rep_b", "p_bool_b", "bool_b", "param_bool_b", "param_b", "p_b",
		"valueParam", "valueParameter",
		"valueParam2", "valueParameter2").list()
	object := grelValue().or(grel("param_o", "p_o")).list()
	field := grel("param_string_field", "p_string_field", "param_string_name", "p_string_name")
	objects := grel("param_any_rep_e", "p_any_rep_e", "param_rep_e", "p_rep_e", "param_a", "p_array_a",
		"param_array_a", "valueParam", "valueParameter",
		"valueParam2", "valueParameter2", "param_any_e", "p_any_e").list()
	logic := func(name string, apply func(flags []string) bool) Function {
		return grelFunction(name, booleanResult, func(c Call) ([]string, error) {
			if !c.Has(0) {
				return nil, nil
			}
			return boolean(apply(c.Arguments[0]))
		}, flags)
	}
	functions := []Function{
		logic("boolean_and", func(flags []string) bool {
			return !slices.ContainsFunc(flags, func(s string) bool { return !isTrue(s) })
		}),
		logic("boolean_or", func(flags []string) bool { return slices.ContainsFunc(flags, isTrue) }),
		logic("boolean_xor", func(flags []string) bool {
			first := slices.IndexFunc(flags, isTrue)
			return first >= 0 && !slices.ContainsFunc(flags[first+1:], isTrue)
		}),
		grelFunction("boolean_not", booleanResult, func(c Call) ([]string, error) { return boolean(!isTrue(c.Arg(0))) }, flag),
		grelFunction("other_coalesce", textResult, func(c Call) ([]string, error) {
			if !c.Has(0) {
				return nil, nil
			}
			return text(c.Arg(0))
		}, objects),
		grelFunction("other_type", textResult, typeName, object.optional()),
		grelFunction("other_hasField", booleanResult, func(c Call) ([]string, error) {
			return boolean(hasField(c.Arg(0), c.Arg(1)))
		}, grelValue(), field),
		grelFunction("controls_if", listResult, choose, choice(nsGREL)...).also("IF", "if"),
	}
	return append(functions, nullTests(nsGREL)...)
}

// choice returns the parameters of IF: the condition, the result if it is true,
// and the result if it is false.
func choice(namespace string) []Parameter {
	return []Parameter{
		grel("param_b", "bool_b", "p_bool_b", "param_bool_b").or(parameter(namespace, "boolParameter", "_strBoolean",
			"strBoolean")).optional(),
		grel("param_true", "any_true", "p_any_true", "param_any_true", "p_any_e_true", "valueParam", "valueParameter").
			or(parameter(namespace, "expressionParameter", "_str", "str")).list().optional(),
		grel("param_false", "any_false", "p_any_false", "param_any_false", "p_any_e_false", "valueParam2", "valueParameter2").
			or(parameter(namespace, "_otherStr", "otherStr")).list().optional(),
	}
}

// choose returns all values of one of two parameters.
func choose(c Call) ([]string, error) {
	if isTrue(c.Arg(0)) {
		return c.Arguments[1], nil
	}
	return c.Arguments[2], nil
}

// nullTests are the functions that every engine must have for the conditions of
// FNML (RML-FNML, section on conditions), in a namespace: the specification
// does not name one. They are also called when the value is missing.
func nullTests(namespace string) []Function {
	value := parameter(namespace, "_str", "str", "parameter").or(grelValue())
	other := parameter(namespace, "_otherStr", "otherStr", "compared").or(grelValue2())
	missing := func(c Call) ([]string, error) { return boolean(!c.Has(0)) }
	present := func(c Call) ([]string, error) { return boolean(c.Has(0)) }
	same := func(c Call) ([]string, error) { return boolean(c.Has(0) && c.Has(1) && c.Arg(0) == c.Arg(1)) }
	different := func(c Call) ([]string, error) { return boolean(c.Has(0) != c.Has(1) || c.Arg(0) != c.Arg(1)) }
	functions := []Function{
		// A list is missing when all of its values are.
		grelFunction("isNull", booleanResult, missing, value.list().optional()).also("controls_isNull"),
		grelFunction("isNotNull", booleanResult, present, value.list().optional()).also("controls_isNotNull"),
		grelFunction("equal", booleanResult, same, value.optional(), other.optional()).also("equals"),
		grelFunction("notEqual", booleanResult, different, value.optional(), other.optional()).also("notEquals"),
	}
	for i, f := range functions {
		functions[i].Namespace = namespace
		functions[i].Outputs = append([]string{nsIDLab + "_boolOut", nsIDLab + "o_boolOut", nsIDLab + "boolOut"}, f.Outputs...)
	}
	return functions
}

// typeName returns the GREL type of values. All values are text, whatever
// they were in the message.
func typeName(c Call) ([]string, error) {
	switch len(c.Arguments[0]) {
	case 0:
		return text("undefined")
	case 1:
		return text("string")
	}
	return text("array")
}

// hasField reports whether a text is a JSON object with a member of a name.
func hasField(object, name string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &members) != nil {
		return false
	}
	_, has := members[name]
	return has
}
