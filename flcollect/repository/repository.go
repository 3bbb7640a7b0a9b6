package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

var (
	_ flcollect.Repository  = (*Store)(nil)
	_ flcollect.NamedModels = (*Store)(nil)
)

// Store stores a result with its weights, both as a pickle and as .npz. A result
// that is stored already is stored once; another one of the same training matches
// flcollect.ErrRefused.
func (s *Store) Store(ctx context.Context, result flcollect.Result) error {
	if err := deliver(ctx, within{s}, result); err != nil {
		return failed("store result of training", result.TrainingID, err)
	}
	return nil
}

// Model returns the parameters that the file of a model holds if it is a .npz
// archive, such as numpy.savez writes, or a single .npy file. Otherwise the error
// matches flcollect.ErrNoModel.
func (s *Store) Model(ctx context.Context, name, version string) (strategy.Model, error) {
	model, _, err := s.NamedModel(ctx, name, version)
	return model, err
}

// NamedModel does what Model does, and returns the names of the layers in their order: those
// of the arrays in a .npz archive; nil for a .npy file and for arr_0, arr_1 and so on.
func (s *Store) NamedModel(ctx context.Context, name, version string) (strategy.Model, []string, error) {
	reader, err := s.open(ctx, models(), partFile, name, version)
	if errors.Is(err, ErrNotFound) {
		return nil, nil, failed("get model", name+" "+version, flcollect.ErrNoModel)
	} else if err != nil {
		return nil, nil, err
	}
	defer func() { _ = reader.Close() }()
	model, layers, err := readParameters(reader, s.config.Dir, s.config.MaxModel)
	if err != nil {
		return nil, nil, failed("get model", name+" "+version, err)
	}
	return model, layers, nil
}

// Strategy makes the strategy that a record describes, see the package
// documentation.
func (s *Store) Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	r, _, err := s.get(ctx, strategies(), name)
	if errors.Is(err, ErrNotFound) {
		return nil, failed("get strategy", name, flcollect.ErrNoStrategy)
	} else if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, name string) (io.ReadCloser, error) {
		return s.open(ctx, strategies(), partFile, name)
	}
	return workshop{s.config.Strategies, s.config.MaxStrategy, open}.fromRecord(ctx, r, conf)
}

// within is a Store as a target of results.
type within struct{ store *Store }

func (w within) create(ctx context.Context, document record) error {
	data, err := json.Marshal(document)
	if err != nil {
		return err
	}
	value, err := decode(data)
	if err != nil {
		return err
	}
	return refusedIfTooLarge(w.store.create(ctx, results(), value))
}

func (w within) find(ctx context.Context, document record) (record, error) {
	r, _, err := w.store.get(ctx, results(), trainingNames(document)...)
	return r, err
}

func (w within) upload(ctx context.Context, document record, result flcollect.Result) error {
	u, err := w.store.begin(ctx, results(), weightsName(document), document.text("training_id"), trainingNames(document)...)
	if err != nil {
		return err
	}
	defer u.abandon(ctx)
	for _, part := range parts(result, true) {
		if err := u.writeWeights(ctx, part, result); err != nil {
			return refusedIfTooLarge(err)
		}
	}
	return u.commit(ctx)
}

// writeWeights writes a part that is made while it is written.
func (u *upload) writeWeights(ctx context.Context, part string, result flcollect.Result) error {
	reader, writer := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		writer.CloseWithError(writeWeights(writer, part, result))
	}()
	err := u.write(ctx, part, reader)
	_ = reader.CloseWithError(io.ErrClosedPipe) // there is no reader any more
	<-done
	return err
}

func refusedIfTooLarge(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, storage.ErrInvalidData) {
		return fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	return err
}

// trainingNames are the names of a result.
func trainingNames(document record) []string {
	return []string{document.text("model_name"), document.text("model_version"), document.text("training_id")}
}

// weightsName is the name of a result's file in the original.
func weightsName(document record) string {
	return "weights/" + document.text("model_name") + "/" + document.text("model_version") + "/" + document.text("configuration_id")
}
