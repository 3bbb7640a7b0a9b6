package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// resultDocument is a result as the collector sends it: the number of rounds and
// the loss as text, "None" for no loss, metrics as numbers, parameters of the
// strategy as they were given. A parameter wins over a metric of its name, and
// epsilon, delta, rounds, final_loss and the counts of updates over both. These are
// there where they are not zero. A run of a job after the first has a record of its own,
// which says its number. The id of the run tells its record from that of another one that has
// the same names.
func resultDocument(r flcollect.Result) (record, error) {
	for _, name := range []string{r.ModelName, r.ModelVersion, r.TrainingID, r.ConfigurationID} {
		if !utf8.ValidString(name) { // JSON would carry another
			return nil, fmt.Errorf("%w: the name %q is not valid UTF-8", flcollect.ErrRefused, name)
		}
	}
	values := make(map[string]any, len(r.Metrics)+len(r.StrategyConf)+2)
	for name, v := range r.Metrics {
		values[name] = numberValue(v)
	}
	for name, v := range r.StrategyConf {
		kept, err := confValue(v)
		if err != nil {
			return nil, fmt.Errorf("%w: strategy_conf.%s: %w", flcollect.ErrRefused, name, err)
		}
		if kept != nil {
			values[name] = kept
		}
	}
	if p := r.Privacy; p != nil {
		values["epsilon"], values["delta"] = numberValue(float64(p.Epsilon)), numberValue(p.Delta)
	}
	for name, count := range map[string]int{
		"clipped": r.Updates.Clipped, "refused": r.Updates.Refused, "far": r.Updates.Far, "converted": r.Updates.Converted,
		"compressed": r.Updates.Compressed, "dropped": r.Updates.Dropped,
	} {
		if count > 0 {
			values[name] = count
		}
	}
	if len(r.LocalLayers) > 0 {
		values["local_layers"] = strings.Join(r.LocalLayers, ",")
	}
	values["rounds"], values["final_loss"] = strconv.Itoa(r.Rounds), "None"
	if r.FinalLoss != nil {
		values["final_loss"] = floatText(*r.FinalLoss)
	}
	document := record{
		{"model_name", r.ModelName},
		{"model_version", r.ModelVersion},
		{"training_id", r.RecordID()},
		{"results", values},
		{"configuration_id", r.ConfigurationID},
	}
	if r.Run > 0 {
		document = append(document, member{"run", r.Run})
	}
	if r.RunID != "" {
		document = append(document, member{"run_id", r.RunID})
	}
	return document, nil
}

// numberValue is a number as Python puts it into JSON, or text where JSON has no
// such number.
func numberValue(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return floatText(v)
	}
	return json.Number(floatText(v))
}

// confValue is a parameter of a strategy as it goes into JSON.
func confValue(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		return numberValue(v), nil
	case float32:
		return numberValue(float64(v)), nil
	case nil, bool, string, json.Number,
		int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return v, nil
	}
	return nil, fmt.Errorf("a %T is no number, truth value or text", v)
}

// target takes results: a Store, or the REST interface of one.
type target interface {
	// create keeps a record; the error of one whose names are taken matches
	// ErrExists.
	create(ctx context.Context, document record) error
	// find returns the record of a training, or an error that matches ErrNotFound.
	find(ctx context.Context, document record) (record, error)
	// upload keeps the weights of a training, or returns an error that matches
	// ErrNotFound if there is no record.
	upload(ctx context.Context, document record, result flcollect.Result) error
}

// deliver stores a result, whichever steps an earlier call has taken.
func deliver(ctx context.Context, to target, result flcollect.Result) error {
	document, err := resultDocument(result)
	if err != nil {
		return err
	}
	whole, err := canonical(document)
	if err != nil {
		return err
	}
	// Between any two steps the record may be deleted: begin again, once.
	for attempt := 1; ; attempt++ {
		err := to.create(ctx, document)
		if errors.Is(err, ErrExists) {
			err = compare(ctx, to, whole, err)
		}
		if err == nil {
			err = to.upload(ctx, document, result)
		}
		switch {
		case !errors.Is(err, ErrNotFound):
			return err
		case attempt == 2:
			return fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
		}
	}
}

// canonical is a result as the repository keeps it.
func canonical(document record) (record, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	value, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	r, err := read(results().form, value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	return r, nil
}

// compare returns nil if the record that is there is the one that was refused,
// which happens where an earlier answer got lost.
func compare(ctx context.Context, to target, whole record, refused error) error {
	found, err := to.find(ctx, whole)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w, and %w", refused, err)
	} else if err != nil {
		return err
	}
	there, err := canonical(found)
	if err != nil {
		return err
	}
	names := []string{"results", "configuration_id"}
	for _, name := range []string{"run", "run_id"} {
		if there.index(name) >= 0 && whole.index(name) >= 0 { // the original keeps none
			names = append(names, name)
		}
	}
	for _, name := range names {
		a, errA := json.Marshal(whole[whole.index(name)].value)
		b, errB := json.Marshal(there[there.index(name)].value)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if string(a) != string(b) {
			return fmt.Errorf("%w: the repository has another result of training %q of model %q version %q: its %s are %.300s, not %.300s",
				flcollect.ErrRefused, whole.text("training_id"), whole.text("model_name"), whole.text("model_version"), name, b, a)
		}
	}
	return nil
}

// parts returns the parts of the file of a result's weights. Encrypted ones are no
// numbers that a .npz could hold.
func parts(result flcollect.Result, npz bool) []string {
	if npz && !result.Encrypted {
		return []string{partFile, partNPZ}
	}
	return []string{partFile}
}

// writeWeights writes a part of the file of weights, without another copy of
// them.
func writeWeights(w io.Writer, part string, result flcollect.Result) error {
	if part == partFile {
		return result.WriteWeights(w)
	}
	named := make([]tensor.Named, len(result.Weights))
	for i, t := range result.Weights {
		named[i] = tensor.Named{Name: "arr_" + strconv.Itoa(i), Tensor: t}
	}
	return tensor.WriteNPZ(w, named...)
}
