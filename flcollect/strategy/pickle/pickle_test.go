package pickle_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/pickle"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/peertest"
)

// captured is what testdata/make.py had a version of Flower pickle.
type captured struct {
	Cases []struct {
		Module, Class string
		Protocol      int
		Conf          map[string]any
		Initial       bool
		Pickle        []byte
	}
	Arrays []struct {
		Protocol int
		Pickle   []byte
	}
	Others []struct { // refused, but for a function that aggregates metrics
		Name     string
		Protocol int
		Pickle   []byte
	}
}

func versions() []string { return []string{"1.3.0", "1.41.0"} }

func read(tb testing.TB, name string) captured {
	tb.Helper()
	file, err := os.ReadFile(name)
	require.NoError(tb, err)
	var c captured
	require.NoError(tb, json.Unmarshal(file, &c))
	return c
}

func fixture(version string) string { return filepath.Join("testdata", "flower-"+version+".json") }

func initial() strategy.Model {
	return strategy.Model{
		tensor.FromFloat32s([]float32{0, 1, 2, 3, 4, 5}, 2, 3),
		tensor.FromFloat64s([]float64{0.5, -1.5}),
	}
}

// ours are the names of parameters that Flower's serverapp has others for.
func ours() map[string]string {
	return map[string]string{
		"fraction_train": "fraction_fit", "min_train_nodes": "min_fit_clients", "min_available_nodes": "min_available_clients",
		"num_malicious_nodes": "num_malicious_clients", "num_nodes_to_select": "num_clients_to_keep",
	}
}

func noEqual(module, class string) bool {
	return class == "FedOpt" || class == "FedAvgAndroid" || strings.HasPrefix(class, "FedXgb") ||
		class == "QFedAvg" && module == "flwr.serverapp.strategy"
}

// check reads what a version of Flower pickled.
func check(t *testing.T, all captured) {
	require.NotEmpty(t, all.Cases)
	for _, c := range all.Cases {
		t.Run(fmt.Sprintf("%s.%s%v/%d", c.Module, c.Class, c.Conf, c.Protocol), func(t *testing.T) {
			require.True(t, pickle.Is(c.Pickle))
			got, err := pickle.Read(c.Pickle)
			if noEqual(c.Module, c.Class) {
				require.ErrorIs(t, err, pickle.ErrRefused)
				require.Regexp(t, `it is what `+c.Module+`\.\w+\.`+c.Class+` makes, and no strategy`, err.Error())
				return
			}
			if c.Conf["weighted_by_key"] != nil {
				require.ErrorIs(t, err, pickle.ErrRefused)
				require.ErrorContains(t, err, `attribute "weighted_by_key" is a text, which has no equal here`)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.Class, got.Name)
			require.True(t, strings.HasPrefix(got.Class, c.Module+"."))
			for name, value := range c.Conf {
				if other := ours()[name]; other != "" {
					name = other
				}
				require.EqualValues(t, value, got.Conf[name], name)
			}
			if c.Initial {
				require.Equal(t, len(initial()), len(got.Initial))
				for i, want := range initial() {
					require.NoError(t, got.Initial[i].SameForm(want))
					require.Equal(t, want.Float64s(), got.Initial[i].Float64s())
				}
			} else {
				require.Nil(t, got.Initial)
			}
			made, err := got.Strategy(strategy.Conf{"min_evaluate_clients": 7})
			require.NoError(t, err)
			require.Equal(t, 7, made.Policy().Evaluate.MinClients, "the job's setting is above that of the pickle")
			if c.Conf["fraction_fit"] != nil || c.Conf["fraction_train"] != nil {
				require.Equal(t, strategy.Rule{
					Fraction:       0.5,
					MinClients:     3,
					RefuseFailures: c.Conf["accept_failures"] == false,
				}, made.Policy().Fit)
				require.Equal(t, 4, made.Policy().MinAvailable)
			}
		})
	}
	for _, c := range all.Arrays {
		t.Run(fmt.Sprintf("arrays/%d", c.Protocol), func(t *testing.T) {
			got, err := pickle.Arrays(c.Pickle)
			require.NoError(t, err)
			want := append(initial(), initial()[0], initial()[0], tensor.FromInt64s([]int64{7}, 1))
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, want[i].Float64s(), got[i].Float64s())
			}
			require.Equal(t, []int{2, 3}, got[2].Shape())
			require.Empty(t, got[4].Shape())
		})
	}
	for _, c := range all.Others {
		t.Run(fmt.Sprintf("%s/%d", c.Name, c.Protocol), func(t *testing.T) {
			got, err := pickle.Read(c.Pickle)
			require.NoFileExists(t, "exploited")
			if c.Name == "function" {
				require.NoError(t, err)
				require.Equal(t, "FedAvg", got.Name)
				return
			}
			require.ErrorIs(t, err, pickle.ErrRefused)
			require.ErrorContains(t, err, map[string]string{
				"exploit":        "it is what posix.system makes, and no strategy",
				"exploit inside": `attribute "on_fit_config_fn" is what posix.system makes`, "no strategy": "it is a dict, " +
					"and no strategy",
				"a class":              "it is the name flwr.server.strategy.fedavg.FedAvg, and no strategy",
				"a strategy in itself": `attribute "initial_parameters" is an object of flwr.server.strategy.fedavg.FedAvg`,
			}[c.Name])
		})
	}
}

func TestRead_readsStrategiesOfOlderFlower(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) { check(t, read(t, fixture(version))) })
	}
}

func TestRead_readsStrategiesOfCurrentFlower(t *testing.T) {
	for _, version := range versions() {
		t.Run(version, func(t *testing.T) {
			program := peertest.Python(t, "flwr=="+version)
			script, err := filepath.Abs(filepath.Join("testdata", "make.py"))
			require.NoError(t, err)
			dir := t.TempDir()
			command := exec.CommandContext(t.Context(), program, script)
			command.Dir = dir
			output, err := command.CombinedOutput()
			require.NoError(t, err, "%s", output)
			check(t, read(t, filepath.Join(dir, filepath.Base(fixture(version)))))
		})
	}
}

func TestArrays_readsThePicklesOfTensor(t *testing.T) {
	var file strings.Builder
	require.NoError(t, tensor.WritePickle(&file, initial()...))
	got, err := pickle.Arrays([]byte(file.String()))
	require.NoError(t, err)
	for i, want := range initial() {
		require.NoError(t, got[i].SameForm(want))
		require.Equal(t, want.Float64s(), got[i].Float64s())
	}
}

func TestRead_refusesInvalidPickles(t *testing.T) {
	object := "\x80\x02cflwr.server.strategy.fedavg\nFedAvg\n)\x81"
	build := func(attributes string) string { return object + "}(" + attributes + "ub." }
	for name, c := range map[string]struct{ pickle, says string }{
		"nothing":                {"", "byte 0: the pickle is cut off"},
		"no end":                 {"N", "byte 1: the pickle is cut off"},
		"no value":               {".", "byte 0: no value is there"},
		"more after the end":     {"N.N", "byte 1: 1 bytes follow the end"},
		"a later protocol":       {"\x80\x06N.", "byte 0: protocol 6 is not known"},
		"an unknown instruction": {"N\xff", "byte 1: instruction 0xff is not known"},
		"an object by reference": {"Pid\n.", "instruction 0x50 is not known"},
		"an extension":           {"\x82\x01.", "instruction 0x82 is not known"},
		"eval":                   {"c__builtin__\neval\n(V1+1\ntR.", "it is what __builtin__.eval makes, and no strategy"},
		"eval on the stack": {
			"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.",
			"it is the unknown name builtins.eval, and no strategy",
		},
		"an attribute of a module": {
			"cflwr.server.strategy.fedavg\nos.system\n.",
			"the unknown name flwr.server.strategy.fedavg.os.system",
		},
		"a class of our name":     {"c__main__\nFedAvg\n.", "it is the unknown name __main__.FedAvg"},
		"a class that is called":  {"cflwr.server.strategy.fedavg\nFedAvg\n)R.", "is called, which is not done here"},
		"a function made new":     {"c_codecs\nencode\n)\x81.", "is called, which is not done here"},
		"a number that is called": {"I1\n)R.", "1 is called"},
		"an endless length":       {"\x8e\xff\xff\xff\xff\xff\xff\xff\xff.", "byte 0: the pickle is cut off"},
		"an endless text":         {"X\xff\xff\xff\x7fabc.", "the pickle is cut off"},
		"nothing remembered":      {"g7\n.", "nothing is remembered as 7"},
		"no mark":                 {"Nt.", "byte 1: no mark is there"},
		"no line":                 {"I" + strings.Repeat("1", 2000), "no end within"},
		"a great number":          {"\x8a\x09123456789.", "it is a whole number of more than 64 bits, and no strategy"},
		"no number":               {"Ix\n.", "a whole number is not read"},
		"no float":                {"Fx\n.", "a number is not read"},
		"a bad escape":            {`V\u12` + "\n.", "the escape at 0 is cut off"},
		"a key that is no text":   {"}I1\nI2\ns.", "a key is 1, and no text"},
		"a key without a value":   {"}(V1\nu.", "a key has no value"},
		"items of a number":       {"I1\nI2\na.", "items are added to 1"},
		"attributes of a list":    {"]}b.", "a list does not become a dict"},
		"attributes twice":        {object + "}b}b.", "does not become a dict"},
		"an unknown attribute": {
			build("X\x03\x00\x00\x00fooI1\n"),
			`flwr.server.strategy.fedavg.FedAvg: attribute "foo" is not known`,
		},
		"an attribute of text": {
			build("X\x0c\x00\x00\x00fraction_fitX\x01\x00\x00\x000"),
			`attribute "fraction_fit" is a text, and no number`,
		},
		"many values":       {strings.Repeat("N", 70000) + ".", "more than 65536 values wait"},
		"many instructions": {strings.Repeat("N0", 140000) + ".", "more than 262144 instructions"},
		"growth": {"V" + strings.Repeat("a", 10000) + "\nq\x010" +
			strings.Repeat("c_codecs\nencode\n(h\x01Vlatin1\ntR0", 100) + "N.", "more than 8 times as large"},
		"a list": {"].", "it is a list, and no strategy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pickle.Read([]byte(c.pickle))
			require.ErrorIs(t, err, pickle.ErrRefused)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestArrays_refusesListsOfOtherValues(t *testing.T) {
	for file, says := range map[string]string{
		"]I1\na.": "item 0 is 1, and no array", "}.": "it is a dict, and no list of arrays",
		"]q\x00h\x00a.": "item 0 is a list, and no array",
	} {
		_, err := pickle.Arrays([]byte(file))
		require.ErrorIs(t, err, pickle.ErrRefused)
		require.ErrorContains(t, err, says)
	}
}

func TestRead_leavesTheRangeOfParametersToTheStrategy(t *testing.T) {
	stored := pickle.Stored{Name: "FedAvg", Conf: strategy.Conf{"fraction_fit": 2.0}}
	_, err := stored.Strategy(nil)
	var wrong *strategy.FieldError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "fraction_fit", wrong.Field)
}

func FuzzRead(f *testing.F) {
	for _, version := range versions() {
		all := read(f, fixture(version))
		for _, c := range all.Cases {
			f.Add(c.Pickle)
		}
		for _, c := range all.Arrays {
			f.Add(c.Pickle)
		}
		for _, c := range all.Others {
			f.Add(c.Pickle)
		}
	}
	for _, name := range []string{"FedAvg-2", "FedAdam", "refused-list", "refused-number", "FedAvgM"} {
		f.Add(named(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		stored, err := pickle.Read(data)
		if err != nil {
			require.ErrorIs(t, err, pickle.ErrRefused)
		} else if _, err := stored.Strategy(nil); err != nil {
			var field *strategy.FieldError
			require.ErrorAs(t, err, &field)
		}
		if _, err := pickle.Arrays(data); err != nil {
			require.ErrorIs(t, err, pickle.ErrRefused)
		}
	})
}
