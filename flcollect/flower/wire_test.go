package flower

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// golden returns messages as Flower's own classes write them, by name.
func golden(t testing.TB) map[string][]byte {
	t.Helper()
	file, err := os.ReadFile("testdata/wire.json")
	require.NoError(t, err)
	var messages map[string][]byte
	require.NoError(t, json.Unmarshal(file, &messages))
	return messages
}

// shredded divides bytes into chunks of one to five.
func shredded(data []byte) Blob {
	var blob Blob
	for n := 1; len(data) > 0; n = n%5 + 1 {
		n = min(n, len(data))
		blob, data = append(blob, data[:n:n], nil), data[n:]
	}
	return blob
}

func config() Config {
	return Config{
		"d": 0.5, "i": int64(-3), "t": true, "f": false, "s": "Grüße", "e": "", "r": []byte{0, 255}, "z": int64(0),
	}
}

// plain returns the parameters with each tensor in one chunk.
func plain(p Parameters) Parameters {
	for i, blob := range p.Tensors {
		p.Tensors[i] = Blob{bytes.Join(blob, nil)}
	}
	return p
}

func parameters() Parameters {
	return Parameters{Type: NumPy, Tensors: []Blob{{[]byte(strings.Repeat("first", 200))}, {[]byte{}}, {[]byte("third")}}}
}

func instructions() map[string]instruction {
	return map[string]instruction{
		"ReconnectIns":          ReconnectIns{7},
		"ReconnectIns for good": ReconnectIns{},
		"GetPropertiesIns":      GetPropertiesIns{config()},
		"GetParametersIns":      GetParametersIns{},
		"FitIns":                FitIns{Parameters: parameters(), Config: config()},
		"EvaluateIns":           EvaluateIns{parameters(), config()},
	}
}

func answers() map[string]answer {
	fine := Status{OK, "Success"}
	return map[string]answer{
		"DisconnectRes": &DisconnectRes{ReasonReconnect},
		"PropertiesRes": &PropertiesRes{fine, config()},
		"ParametersRes": &ParametersRes{Status: fine, Parameters: parameters()},
		"FitRes":        &FitRes{Status: fine, Parameters: parameters(), NumExamples: 1234567, Metrics: config()},
		"EvaluateRes":   &EvaluateRes{Status{EvaluateNotImplemented, "no"}, 0.25, -1, config()},
	}
}

func TestInstruction_hasTheWireFormOfFlower(t *testing.T) {
	for name, want := range instructions() {
		file := golden(t)[name]
		got, err := decodeInstruction(shredded(file))
		require.NoError(t, err, name)
		switch ins := got.(type) {
		case FitIns:
			ins.Parameters = plain(ins.Parameters)
			got = ins
		case EvaluateIns:
			ins.Parameters = plain(ins.Parameters)
			got = ins
		}
		require.Equal(t, want, got)
		var w wire.Writer
		require.NoError(t, want.instruct(&w))
		require.Equal(t, w.Len(), Blob(w.Chunks()).Len())
		again, err := decodeInstruction(w.Chunks())
		require.NoError(t, err)
		var second wire.Writer
		require.NoError(t, again.instruct(&second))
		require.Equal(t, joined(w), joined(second))
		require.Equal(t, sorted(file), sorted(joined(w)), "the same bytes, but for the order of maps: %s", name)
	}
}

func TestAnswer_hasTheWireFormOfFlower(t *testing.T) {
	for name, want := range answers() {
		file := golden(t)[name]
		got, err := decodeAnswer(shredded(file))
		require.NoError(t, err, name)
		switch res := got.(type) {
		case *FitRes:
			res.Parameters = plain(res.Parameters)
		case *ParametersRes:
			res.Parameters = plain(res.Parameters)
		}
		require.Equal(t, want, got)
		var w wire.Writer
		require.NoError(t, want.reply(&w))
		require.Equal(t, sorted(file), sorted(joined(w)), name)
	}
}

func joined(w wire.Writer) []byte { return bytes.Join(w.Chunks(), nil) }

func sorted(data []byte) []byte {
	data = bytes.Clone(data)
	slices.Sort(data)
	return data
}

func TestFitIns_refersToLargeTensors(t *testing.T) {
	large := make([]byte, 1<<20)
	var w wire.Writer
	require.NoError(t, FitIns{Parameters: Parameters{Tensors: []Blob{{large}}}}.instruct(&w))
	require.True(t, slices.ContainsFunc(w.Chunks(),
		func(piece []byte) bool { return len(piece) == len(large) && &piece[0] == &large[0] }))
	got, err := decodeInstruction(w.Chunks())
	require.NoError(t, err)
	require.Same(t, &large[0], &got.(FitIns).Parameters.Tensors[0][0][0])
}

func TestDecodeAnswer_refusesTruncatedMessages(t *testing.T) {
	file := golden(t)["FitRes"]
	for n := range file {
		_, err := decodeAnswer(shredded(file[:n]))
		require.ErrorIs(t, err, ErrProtocol, "cut at %d", n)
	}
}

func TestFitIns_namesValuesThatCannotBeSent(t *testing.T) {
	for _, value := range []any{nil, int8(1), "\xff", struct{}{}, []int{1}} {
		var w wire.Writer
		require.ErrorContains(t, FitIns{Config: Config{"odd": value}}.instruct(&w), `"odd"`)
	}
	var w wire.Writer
	require.Error(t, FitIns{Config: Config{"\xff": 1.0}}.instruct(&w))
}

func TestDecodeInstruction_boundsTheNumberOfParts(t *testing.T) {
	p := Parameters{Tensors: make([]Blob, mostEntries+1)}
	var w wire.Writer
	require.NoError(t, FitIns{Parameters: p}.instruct(&w))
	_, err := decodeInstruction(w.Chunks())
	require.ErrorContains(t, err, "more than 65536 tensors")
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, message := range slices.Sorted(maps.Keys(answers())) {
		f.Add(golden(f)[message])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeAnswer(shredded(data))
		whole, errWhole := decodeAnswer(Blob{data})
		require.Equal(t, err == nil, errWhole == nil)
		if err != nil {
			require.ErrorIs(t, err, ErrProtocol)
			return
		}
		var a, b wire.Writer
		require.NoError(t, got.reply(&a))
		require.NoError(t, whole.reply(&b))
		require.Equal(t, joined(a), joined(b))
		again, err := decodeAnswer(a.Chunks())
		require.NoError(t, err)
		var c wire.Writer
		require.NoError(t, again.reply(&c))
		require.Equal(t, joined(a), joined(c))
	})
}

func FuzzDecodeInstruction(f *testing.F) {
	for _, message := range slices.Sorted(maps.Keys(instructions())) {
		f.Add(golden(f)[message])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeInstruction(shredded(data))
		if err != nil {
			require.ErrorIs(t, err, ErrProtocol)
			return
		}
		var a, b wire.Writer
		require.NoError(t, got.instruct(&a))
		again, err := decodeInstruction(a.Chunks())
		require.NoError(t, err)
		require.NoError(t, again.instruct(&b))
		require.Equal(t, joined(a), joined(b))
	})
}
