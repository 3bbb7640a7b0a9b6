package flcollect_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/flcollect/report"
)

// What the keys of the clients here are of, and those of other clients.
const (
	ownKeys   = "degree 1024, moduli of [27] bits, scale 2^10"
	otherKeys = "degree 2048, moduli of [27] bits, scale 2^16"
)

// open is a job that leaves the encryption parameters to its clients.
func open(rounds, clients int) jobconfig.Config {
	c := sealed(rounds, clients)
	c.Homomorphic = &ckks.Settings{}
	return c
}

func TestServer_Start_takesOpenParametersFromClients(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", open(2, 2)))
	require.NoError(t, w.Start(t.Context(), "job", open(2, 2)), "the same configuration")
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	gate := make(chan struct{})
	w.join(t, keeper{message: message(t, "none-second"), examples: 7, fit: func(flower.FitIns, *flower.FitRes) error {
		<-gate
		return nil
	}})
	gate <- struct{}{}
	w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	require.NoError(t, w.Start(t.Context(), "job", open(2, 2)), "still the same configuration")
	go func() { gate <- struct{}{} }()

	w = w.restart(t, flcollect.Config{})
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	w.join(t, keeper{message: message(t, "none-second"), examples: 7})
	status := w.untilState(t, "job", report.Finished)
	require.Contains(t, status.Note, "the encryption parameters are those of the keys of client ")
	require.Contains(t, status.Note, ownKeys)
	result, err := w.Result(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, fixture(t, "seal", "none-sum")[residuesAt:], residues(t, result.Weights))
}

// Differential privacy is around the mean that the keys decide about.
func TestServer_Start_takesOpenParametersWithDifferentialPrivacy(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	conf := open(1, 2)
	conf.DPAdaptive = private(1).DPAdaptive
	require.NoError(t, w.Start(t.Context(), "job", conf))
	clipped := func(_ flower.FitIns, res *flower.FitRes) error {
		res.Metrics["dpfedavg_norm_bit"] = true
		return nil
	}
	w.join(t, keeper{message: message(t, "none-first"), examples: 5, fit: clipped})
	w.join(t, keeper{message: message(t, "none-second"), examples: 7, fit: clipped})
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, epsilonAfter(t, 1), float64(status.Privacy.Epsilon))
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.True(t, rounds[0].Aggregated, rounds[0].Note)
}

func TestServer_Start_failsForKeysOfOtherParameters(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", sealed(1, 1)))
	w.join(t, keeper{message: message(t, "none-first"), begin: fixture(t, "tenseal", "tensor-first"), examples: 5})
	status := w.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "encrypts with "+otherKeys+", and the job names "+ownKeys)

	half := open(1, 1)
	half.Homomorphic.ScaleBits = 12
	require.NoError(t, w.Start(t.Context(), "half", half))
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	status = w.untilState(t, "half", report.Interrupted)
	require.Contains(t, status.Error, "encrypts with "+ownKeys+", and the job names scale 2^12")
}

func TestServer_Start_failsForClientsWhoseKeysDiffer(t *testing.T) {
	for name, conf := range map[string]jobconfig.Config{"open": open(1, 2), "named": sealed(1, 2)} {
		w := newWorld(t, flcollect.Config{})
		require.NoError(t, w.Start(t.Context(), "job", conf))
		decrypts := func(flower.FitIns, *flower.FitRes) error { return fmt.Errorf("encrypted with other keys") }
		first := message(t, "none-first")
		w.join(t, keeper{message: first, examples: 5})
		w.until(t, "job", "begun", func(s flcollect.Status) bool { return name == "named" || s.Note != "" })
		w.join(t, keeper{message: first, begin: fixture(t, "tenseal", "tensor-first"), examples: 5, fit: decrypts})
		status := w.untilState(t, "job", report.Interrupted)
		require.Contains(t, status.Error, ownKeys, name)
		require.Contains(t, status.Error, otherKeys, name)
	}
}

func TestServer_Handle_refusesALateClientWithOtherKeys(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	conf := open(2, 1)
	conf.StrategyConf["fraction_fit"] = 1.0
	require.NoError(t, w.Start(t.Context(), "job", conf))
	gate := make(chan struct{})
	w.join(t, keeper{message: message(t, "none-first"), examples: 5, evaluate: func(flower.EvaluateIns) error {
		<-gate
		return nil
	}})
	w.until(t, "job", "fitted", func(s flcollect.Status) bool { return s.Evaluating })
	w.join(t, keeper{message: message(t, "none-second"), begin: fixture(t, "tenseal", "tensor-first"), examples: 5})
	w.until(t, "job", "larger", func(s flcollect.Status) bool { return s.Clients == 2 })
	close(gate)
	status := w.untilState(t, "job", report.Finished)
	require.Len(t, status.Quarantined, 1)
	require.Contains(t, status.Quarantined[0].Reason, "encrypts with "+otherKeys)
	require.Contains(t, status.Quarantined[0].Reason, "with "+ownKeys)
}

func TestServer_Start_failsForKeysUnlikeThePublicContext(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	public := fixture(t, "tenseal", "public")
	_, err := w.SetPublicContext(t.Context(), "job", bytes.NewReader(public), publiccontext.Condition{})
	require.NoError(t, err)
	require.NoError(t, w.Start(t.Context(), "job", open(1, 1)))
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, status.Note, "the context fits what is open")
	_, err = w.SetPublicContext(t.Context(), "job", bytes.NewReader(public), publiccontext.Condition{})
	require.NoError(t, err)
	w.join(t, keeper{message: message(t, "none-first"), examples: 5})
	status = w.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "encrypts with "+ownKeys+", and the public context that is stored for the job is of "+otherKeys)
}

// withScale is a message whose ciphertext has another scale.
func withScale(data []byte, from, to int) []byte {
	scale := func(bits int) []byte {
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Ldexp(1, bits)))
	}
	return bytes.ReplaceAll(bytes.Clone(data), scale(from), scale(to))
}

func TestServer_Status_saysWhyKeysCannotBeUsed(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.NoError(t, w.Start(t.Context(), "job", open(1, 1)))
	w.join(t, keeper{message: withScale(message(t, "none-first"), keys.ScaleBits, 26), examples: 5})
	status := w.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "encrypts with degree 1024, moduli of [27] bits, scale 2^26")
	require.Contains(t, status.Error, "scale_bits: 26 is not from 1 to 25")
	require.NotContains(t, status.Error, "the job names", "it names nothing")
}
