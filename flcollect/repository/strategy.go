package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// classMember is the member of a strategy's meta that names a built-in one.
const classMember = "class"

// Loader makes a strategy of a stored file that is no built-in one, with the
// parameters of a job. The name is that of the record, for errors. An error that another
// try would not change matches flcollect.ErrNoStrategy or is a *strategy.FieldError. The
// strategy may keep the file. A Loader is called concurrently.
type Loader func(ctx context.Context, name string, file []byte, conf strategy.Conf) (strategy.Strategy, error)

// defaultMaxStrategy is how large the file of a strategy may be in bytes if nothing
// is configured.
const defaultMaxStrategy = 64 << 20

// workshop makes strategies of records and files.
type workshop struct {
	load  Loader // nil if files are not loaded
	limit int64  // of files
	// open opens the file of a record.
	open func(ctx context.Context, name string) (io.ReadCloser, error)
}

// fromRecord makes the strategy that a record describes: the class in its meta with
// the other members as parameters, those of the job over them. A record without a
// class is its file.
func (w workshop) fromRecord(ctx context.Context, r record, conf strategy.Conf) (strategy.Strategy, error) {
	name := r.text("strategy_name")
	meta, err := readMeta(r)
	if err != nil {
		return nil, failed("read strategy", name, err)
	}
	class, _ := meta[classMember].(string)
	switch {
	case class != "" && !strategy.Known(class):
		return nil, unusable(name, fmt.Sprintf("its %q in the repository, %q, is no built-in strategy", classMember, class))
	case class != "":
		delete(meta, classMember)
		return merge(class, strategy.Conf(meta), conf)
	case r.text("strategy_id") != "":
		return w.fromFile(ctx, name, conf)
	}
	return nil, unusable(name, fmt.Sprintf("it has no file in the repository, and its meta names no %q", classMember))
}

func readMeta(r record) (map[string]any, error) {
	at := r.index("meta")
	if at < 0 {
		return nil, nil
	}
	data, err := json.Marshal(r[at].value)
	if err != nil {
		return nil, err
	}
	value, err := decode(data)
	meta, _ := value.(map[string]any)
	return meta, err
}

// fromFile has the loader make the strategy.
func (w workshop) fromFile(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	if w.load == nil {
		return nil, unusable(name, fmt.Sprintf("files of strategies are not loaded here; name a built-in one as %q in its meta", classMember))
	}
	reader, err := w.open(ctx, name)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, err)
	}
	if err != nil {
		return nil, failed("open strategy", name, err)
	}
	defer func() { _ = reader.Close() }() // it was only read from
	file, err := io.ReadAll(io.LimitReader(reader, w.limit+1))
	switch {
	case err != nil:
		return nil, failed("read strategy", name, err)
	case int64(len(file)) > w.limit:
		return nil, unusable(name, fmt.Sprintf("its file in the repository has more than %d bytes", w.limit))
	}
	made, err := w.load(ctx, name, file, conf)
	var field *strategy.FieldError
	switch {
	case err == nil:
		return made, nil
	case errors.As(err, &field):
		return nil, err
	case errors.Is(err, flcollect.ErrNoStrategy):
		reason := strings.TrimPrefix(err.Error(), flcollect.ErrNoStrategy.Error()+": ")
		return nil, unusable(name, "its file in the repository cannot be used: "+reason)
	}
	return nil, failed("load strategy", name, err)
}

// merge makes a strategy with the parameters of a job over its own.
func merge(class string, own, conf strategy.Conf) (strategy.Strategy, error) {
	merged := strategy.Conf{}
	for _, from := range []strategy.Conf{own, conf} {
		for name, value := range from {
			if value != nil {
				merged[name] = value
			}
		}
	}
	return strategy.New(class, merged)
}

// unusable is the error of a strategy that is there and cannot be used.
func unusable(name, reason string) error {
	return fmt.Errorf("%w: %w", flcollect.ErrNoStrategy, &strategy.FieldError{Strategy: name, Field: "strategy", Reason: reason})
}
