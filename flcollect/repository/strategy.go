package repository

import (
	"encoding/json"
	"fmt"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// classMember is the member of a strategy's meta that names a built-in one.
const classMember = "class"

// makeStrategy makes the strategy that a record describes: the class in its meta
// with the other members as parameters, those of the job over them.
func makeStrategy(r record, conf strategy.Conf) (strategy.Strategy, error) {
	name := r.text("strategy_name")
	var meta map[string]any
	if at := r.index("meta"); at >= 0 {
		data, err := json.Marshal(r[at].value)
		if err != nil {
			return nil, failed("read strategy", name, err)
		}
		if value, err := decode(data); err == nil {
			meta, _ = value.(map[string]any)
		}
	}
	class, _ := meta[classMember].(string)
	switch {
	case class == "" && r.text("strategy_id") != "":
		return nil, failed("make strategy", name, fmt.Errorf("%w: it is a pickled object, and pickled strategies are not supported; name a built-in one as %q in its meta", flcollect.ErrNoStrategy, classMember))
	case class == "":
		return nil, failed("make strategy", name, fmt.Errorf("%w: its meta names no %q", flcollect.ErrNoStrategy, classMember))
	case !strategy.Known(class):
		return nil, failed("make strategy", name, fmt.Errorf("%w: its class %q is not a built-in one", flcollect.ErrNoStrategy, class))
	}
	merged := strategy.Conf{}
	for name, value := range meta {
		if name != classMember {
			merged[name] = value
		}
	}
	for name, value := range conf {
		if value != nil {
			merged[name] = value
		}
	}
	return strategy.New(class, merged)
}
