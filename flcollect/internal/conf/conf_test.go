package conf_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/conf"
)

func TestReader_readsNumbersInManyForms(t *testing.T) {
	for _, given := range []any{
		7.0, float32(7), 7, int8(7), int32(7), int64(7), uint(7), uint64(7), json.Number("7"), "7", " 7.0 ",
		"+0.7e1",
	} {
		r := conf.NewReader(map[string]any{"x": given})
		require.Equal(t, 7., r.Number("x", 0, 0, 10), "%T", given)
		require.Nil(t, r.End())
		r = conf.NewReader(map[string]any{"x": given})
		require.Equal(t, 7, r.Count("x", 0, 0), "%T", given)
		require.Nil(t, r.End())
	}
	r := conf.NewReader(map[string]any{"x": float32(0.1)})
	require.Equal(t, 0.1, r.Number("x", 0, 0, 1), "as it was written")
}

func TestReader_readsBooleansInManyForms(t *testing.T) {
	for given, want := range map[any]bool{true: true, "TRUE": true, "on": true, 1: true, "yes": true, json.Number("1"): true,
		false: false, "False": false, "off": false, 0.0: false, "no": false} {
		r := conf.NewReader(map[string]any{"x": given})
		require.Equal(t, want, r.Truth("x", !want), "%v", given)
		require.Nil(t, r.End())
	}
}

func TestReader_returnsDefaults(t *testing.T) {
	for _, values := range []map[string]any{nil, {"n": nil, "c": nil, "t": nil}} {
		r := conf.NewReader(values)
		require.True(t, math.IsInf(r.Number("n", math.Inf(1), 0, 1), 1))
		require.Equal(t, -3, r.Count("c", -3, 0))
		require.True(t, r.Truth("t", true))
		require.Nil(t, r.End())
	}
}

func TestReader_namesTheFirstFault(t *testing.T) {
	const least, most = 1, 1e21
	for want, given := range map[string]any{
		"0 is not between 1 and 1000000000000000000000": 0,
		"1e+22 is not between 1":                        1e22,
		"NaN is no number":                              math.NaN(),
		"+Inf is no number":                             math.Inf(1),
		"true is no number":                             true,
		"[1] is no number":                              []int{1},
		"0x1p3 is no number":                            "0x1p3",
		"infinity is no number":                         "infinity",
		"1e999 is no number":                            "1e999",
		" is no number":                                 "",
		"- is no number":                                "-",
	} {
		r := conf.NewReader(map[string]any{"x": given, "y": "bad"})
		require.Equal(t, 5., r.Number("x", 5, least, most))
		r.Number("y", 0, 0, 1)
		fault := r.End()
		require.NotNil(t, fault)
		require.Equal(t, "x", fault.Field)
		require.Contains(t, fault.Reason, want)
	}
	for want, read := range map[string]func(*conf.Reader){
		"2.5 is no whole number":           func(r *conf.Reader) { r.Count("x", 0, 0) },
		"2.5 is less than 3":               func(r *conf.Reader) { r.Number("x", 0, 3, conf.Anything) },
		"2.5 is no truth value":            func(r *conf.Reader) { r.Truth("x", true) },
		"2.5 is odd":                       func(r *conf.Reader) { r.Fail("x", "%v is odd", 2.5); r.Truth("x", true) },
		"unknown here; there are y, other": func(r *conf.Reader) { r.Truth("y", true); r.Truth("other", true) },
	} {
		r := conf.NewReader(map[string]any{"x": 2.5})
		read(r)
		require.Equal(t, &conf.Fault{Field: "x", Reason: want}, r.End())
	}
	r := conf.NewReader(map[string]any{"x": 2.5})
	r.Require("x")
	r.Number("x", 0, 0, 3)
	require.Nil(t, r.End())
	r.Require("z")
	require.Equal(t, &conf.Fault{Field: "z", Reason: "is required"}, r.End())
}

func FuzzReader(f *testing.F) {
	f.Add(`{"n": 0.5, "c": "3", "t": "on"}`)
	f.Add(`{"n": "1e400", "c": 1e10, "t": []}`)
	f.Add(`{"n": "..", "c": -0, "more": {}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var values map[string]any
		if json.Unmarshal([]byte(text), &values) != nil {
			return
		}
		r := conf.NewReader(values)
		n, c := r.Number("n", 0.5, 0, 1), r.Count("c", 1, 1)
		r.Truth("t", false)
		if !(n >= 0 && n <= 1) || c < 1 {
			t.Fatal("out of bounds", n, c)
		}
		if fault := r.End(); fault != nil && fault.Reason == "" {
			t.Fatal("no reason")
		}
	})
}
