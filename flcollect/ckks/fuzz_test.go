package ckks_test

import (
	"errors"
	"testing"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// FuzzMessage adds a message of anything, and then a good one: only what is in order
// is taken, and a refused one leaves no trace.
func FuzzMessage(f *testing.F) {
	for _, name := range []string{"tensor-first", "packed-second", "vector-sum"} {
		f.Add(read(f, "tenseal", name))
	}
	good := strategy.Update{Client: "good", Examples: 3, Model: sent(read(f, "tenseal", "vector-first"))}
	alone := begin(f, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{})
	if err := alone.Add(f.Context(), good); err != nil {
		f.Fatal(err)
	}
	mean, err := alone.Finish(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	want := string(join(mean)[0])
	f.Fuzz(func(t *testing.T, data []byte) {
		a := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{Model: good.Model})
		err := a.Add(t.Context(), strategy.Update{Client: "fuzz", Examples: 2, Model: sent(data)})
		if err != nil && !errors.Is(err, strategy.ErrQuarantined) {
			t.Fatal(err)
		}
		if err := a.Add(t.Context(), good); err != nil {
			t.Fatal(err)
		}
		mean, finishErr := a.Finish(t.Context())
		if finishErr != nil {
			t.Fatal(finishErr)
		}
		if err != nil && string(join(mean)[0]) != want {
			t.Fatal("a refused update left a trace")
		}
	})
}

// FuzzCiphertext puts anything where a ciphertext belongs.
func FuzzCiphertext(f *testing.F) {
	for _, name := range []string{"none-first", "zlib-first", "zstd-first", "seeded"} {
		f.Add(read(f, "seal", name))
	}
	p := parameters(f, node)
	mean, err := ckks.NewStrategy(p, strategy.Policy{}, &ckks.Options{MaxAbs: 1, Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := mean.Begin(strategy.Round{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		message := message{shape: []uint32{1}, scale: 1 << 16, ciphertexts: [][]byte{data}}
		err = a.Add(t.Context(), strategy.Update{Client: "fuzz", Examples: 2, Model: sent(message.bytes())})
		if checked := p.CheckModel(sent(message.bytes())); (checked == nil) != (err == nil) {
			t.Fatal("a model that is no update, or the other way round:", checked, err)
		}
		if err != nil {
			if !errors.Is(err, strategy.ErrQuarantined) {
				t.Fatal(err)
			}
			return
		}
		model, err := a.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again := parse(t, join(model)[0]); len(again.ciphertexts) != 1 {
			t.Fatal("another number of ciphertexts")
		}
	})
}

// FuzzContext reads anything as a context.
func FuzzContext(f *testing.F) {
	f.Add(read(f, "tenseal", "public"))
	f.Add(read(f, "tenseal", "secret"))
	f.Add([]byte("CgA="))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ckks.ParseContext(data)
		if (c == nil) == (err == nil) {
			t.Fatal("a context or an error", c, err)
		}
	})
}
