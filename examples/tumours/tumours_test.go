package tumours_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/examples/tumours"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func parties(t *testing.T) []tumours.Party {
	t.Helper()
	list, err := tumours.Parties()
	require.NoError(t, err)
	return list
}

func malignant(list []tumours.Tumour) int {
	n := 0
	for _, t := range list {
		if t.Malignant {
			n++
		}
	}
	return n
}

func TestParties_areCompleteAndScaled(t *testing.T) {
	all, err := tumours.All()
	require.NoError(t, err)
	require.Len(t, all, tumours.Count)
	require.Equal(t, tumours.Malignant, malignant(all))
	for i := range tumours.Features {
		var sum, squares float64
		for _, one := range all {
			sum += one.Features[i]
			squares += one.Features[i] * one.Features[i]
		}
		require.InDelta(t, 0, sum, 1e-9, "feature %d", i)
		require.InDelta(t, tumours.Count, squares, 1e-9, "feature %d", i)
	}
}

func TestParties_beginWithTheFirstTumourOfTheSource(t *testing.T) {
	all, err := tumours.All()
	require.NoError(t, err)
	// Radius 17.99 among a mean of 14.127292 and a standard deviation of 3.520951.
	require.InDelta(t, (17.99-14.127292)/3.520951, all[0].Features[0], 1e-5)
	require.True(t, all[0].Malignant)
}

func TestParties_haveEveryTumourOnce(t *testing.T) {
	all, err := tumours.All()
	require.NoError(t, err)
	var dealt []tumours.Tumour
	for _, p := range parties(t) {
		dealt = append(append(dealt, p.Train...), p.Test...)
	}
	order := func(a, b tumours.Tumour) int { return slices.Compare(a.Features[:], b.Features[:]) }
	slices.SortFunc(all, order)
	slices.SortFunc(dealt, order)
	require.Equal(t, all, dealt)
}

func TestParties_differ(t *testing.T) {
	var shares []float64
	for _, p := range parties(t) {
		both := slices.Concat(p.Train, p.Test)
		shares = append(shares, math.Round(100*float64(malignant(both))/float64(len(both))))
		require.InDelta(t, 0.25, float64(len(p.Test))/float64(len(both)), 0.02, p.Name)
	}
	require.Equal(t, []float64{4, 35, 90}, shares)
	require.Equal(t, parties(t), parties(t))
}

// together averages what the parties learn, round for round.
func together(list []tumours.Party, rounds, epochs int, rate float64) tumours.Regression {
	var model tumours.Regression
	for range rounds {
		var sum tumours.Regression
		total := 0.0
		for _, p := range list {
			local, n := model, float64(len(p.Train))
			local.Descend(p.Train, rate, epochs)
			for i, w := range local.Weights {
				sum.Weights[i] += n * w
			}
			sum.Bias += n * local.Bias
			total += n
		}
		for i := range sum.Weights {
			model.Weights[i] = sum.Weights[i] / total
		}
		model.Bias = sum.Bias / total
	}
	return model
}

func TestTrainer_isBetterTogetherThanAlone(t *testing.T) {
	list := parties(t)
	var test []tumours.Tumour
	for _, p := range list {
		test = append(test, p.Test...)
	}
	const rounds = 20
	common := together(list, rounds, tumours.DefaultEpochs, tumours.DefaultLearningRate)
	loss, accuracy := common.Measure(test)
	require.Less(t, loss, 0.1)
	require.Greater(t, accuracy, 0.98)
	for _, p := range list {
		var alone tumours.Regression
		alone.Descend(p.Train, tumours.DefaultLearningRate, rounds*tumours.DefaultEpochs)
		lossAlone, accuracyAlone := alone.Measure(test)
		require.Less(t, loss, lossAlone, p.Name)
		require.Greater(t, accuracy, accuracyAlone, p.Name)
	}
}

func TestRegression_descendsTheGradientOfTheLoss(t *testing.T) {
	party := parties(t)[1]
	start := tumours.Regression{Bias: 0.3}
	for i := range start.Weights {
		start.Weights[i] = 0.02 * float64(i-15)
	}
	const rate, small = 1e-3, 1e-6
	moved := start
	moved.Descend(party.Train, rate, 1)
	for i := range start.Weights {
		up, down := start, start
		up.Weights[i] += small
		down.Weights[i] -= small
		above, _ := up.Measure(party.Train)
		below, _ := down.Measure(party.Train)
		require.InDelta(t, (above-below)/(2*small), (start.Weights[i]-moved.Weights[i])/rate, 1e-6, "weight %d", i)
	}
}

func TestRegression_lossOfLargeScoresIsFinite(t *testing.T) {
	sure := tumours.Regression{Bias: 1e6}
	loss, accuracy := sure.Measure([]tumours.Tumour{{Malignant: true}, {Malignant: false}})
	require.Equal(t, 5e5, loss)
	require.Equal(t, 0.5, accuracy)
}

func TestTrainer_answersWithModelAndMetrics(t *testing.T) {
	party := parties(t)[2]
	trainer := tumours.NewTrainer(party)
	first, err := trainer.Parameters(t.Context(), flower.GetParametersIns{})
	require.NoError(t, err)
	fit, err := trainer.Fit(t.Context(), flower.FitIns{Parameters: first, Config: flower.Config{
		"epochs": int64(7), "learning_rate": 0.25, "batch_size": int64(32),
	}})
	require.NoError(t, err)
	require.EqualValues(t, len(party.Train), fit.NumExamples)
	model, err := fit.Parameters.Decode()
	require.NoError(t, err)
	require.Equal(t, []int{1, tumours.Features}, model[0].Shape())

	var want tumours.Regression
	want.Descend(party.Train, 0.25, 7)
	got, err := tumours.Decode(model)
	require.NoError(t, err)
	require.Equal(t, want, got)
	loss, accuracy := want.Measure(party.Train)
	require.Equal(t, flower.Config{"loss": loss, "accuracy": accuracy}, fit.Metrics)

	measured, err := trainer.Evaluate(t.Context(), flower.EvaluateIns{Parameters: fit.Parameters})
	require.NoError(t, err)
	loss, accuracy = want.Measure(party.Test)
	require.Equal(t, float32(loss), measured.Loss)
	require.Equal(t, flower.Config{"accuracy": accuracy}, measured.Metrics)
	require.EqualValues(t, len(party.Test), measured.NumExamples)

	properties, err := trainer.Properties(t.Context(), flower.GetPropertiesIns{})
	require.NoError(t, err)
	require.Equal(t, flower.Config{"party": "oncology"}, properties)
}

func TestTrainer_refusesWrongInstructions(t *testing.T) {
	trainer := tumours.NewTrainer(parties(t)[0])
	zeros := flower.FromTensors(tumours.Regression{}.Tensors()...)
	for want, ins := range map[string]flower.FitIns{
		"epochs: expected a whole number from 1 to 10000, got 0": {Parameters: zeros, Config: flower.Config{"epochs": int64(0)}},
		"epochs: expected a whole number from 1 to 10000, got 1": {Parameters: zeros, Config: flower.Config{"epochs": "1"}},
		"learning_rate: expected a number above 0, got NaN":      {Parameters: zeros, Config: flower.Config{"learning_rate": math.NaN()}},
		"learning_rate: expected a number above 0, got -1":       {Parameters: zeros, Config: flower.Config{"learning_rate": -1.0}},
		`fit "screening": decode regression: 1 tensors`:          {Parameters: flower.FromTensors(tensor.FromFloat64s([]float64{1}))},
		`fit "screening": decode regression: tensor 0: tensor: s`: {Parameters: flower.FromTensors(
			tensor.FromFloat64s([]float64{1}), tensor.FromFloat64s([]float64{1}))},
	} {
		_, err := trainer.Fit(t.Context(), ins)
		require.ErrorContains(t, err, want)
	}
	_, err := trainer.Evaluate(t.Context(), flower.EvaluateIns{})
	require.ErrorContains(t, err, `evaluate "screening": `)
}
