package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// classMember is the member of a strategy's meta that names a built-in one.
const classMember = "class"

// makeStrategy makes the strategy that a record describes: the class in its meta
// with the other members as parameters, or else the one that its file holds
// pickled, if there is a file. The parameters of the job go over either.
func makeStrategy(r record, conf strategy.Conf, open func() (io.ReadCloser, error)) (strategy.Strategy, error) {
	name := r.text("strategy_name")
	meta, err := metaOf(r)
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
		return openPickled(name, conf, open)
	}
	return nil, unusable(name, fmt.Sprintf("it has no file in the repository, and its meta names no %q", classMember))
}

func metaOf(r record) (map[string]any, error) {
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

// openPickled makes the strategy in a file.
func openPickled(name string, conf strategy.Conf, open func() (io.ReadCloser, error)) (strategy.Strategy, error) {
	file, err := open()
	if err != nil {
		return nil, failed("open strategy", name, err)
	}
	defer func() { _ = file.Close() }() // it was only read from
	class, given, err := readPickled(file)
	switch {
	case errors.Is(err, errForeign), errors.Is(err, errPickle):
		return nil, unusable(name, "its file in the repository cannot be used: "+err.Error())
	case err != nil:
		return nil, failed("read strategy", name, err)
	}
	return merge(class, given, conf)
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
