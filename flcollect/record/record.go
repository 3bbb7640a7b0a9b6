package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Errors of the decoders.
var (
	// ErrFormat is returned for bytes that are not what Flower makes. The message says where.
	ErrFormat = errors.New("record: malformed")
	// ErrLimit is returned for what exceeds a limit. The message names the limit.
	ErrLimit = errors.New("record: too large")
	// ErrMissing is returned when an object is not available. The message names it.
	ErrMissing = errors.New("record: object is missing")
)

// Named is a value with its name. Names are unique within a record or a Dict.
type Named[V any] struct {
	// Name is UTF-8.
	Name string
	// Value is the value.
	Value V
}

// Record is a member of a [Dict]: [Arrays], [Metrics], [Config], or a [*Prepared] record in place of
// one of them.
type Record interface {
	// kind returns the name of the type of the record's object.
	kind() string
}

// Dict holds named records, in the order in which they were added (RecordDict, formerly RecordSet).
type Dict []Named[Record]

// Arrays holds named arrays in an order (ArrayRecord, formerly ParametersRecord). The order is that of
// the model's layers.
type Arrays []Named[Array]

// Metrics holds named numbers (MetricRecord). A value is an int64, uint64, float64, []int64, []uint64
// or []float64. An int is sent as an int64.
type Metrics []Named[any]

// Config holds named values (ConfigRecord). A value is what [Metrics] may hold, or a bool, string,
// []byte, []bool, []string or [][]byte. An int is sent as an int64.
type Config []Named[any]

func (Arrays) kind() string  { return kindArrays }
func (Metrics) kind() string { return kindMetrics }
func (Config) kind() string  { return kindConfig }

// Get returns the record of the name, or nil. A [*Prepared] record is returned as what was prepared.
func (d Dict) Get(name string) Record {
	found, _ := find(d, name)
	if p, ok := found.(*Prepared); ok {
		return p.record
	}
	return found
}

// Arrays returns the arrays of the name, and whether there are any.
func (d Dict) Arrays(name string) (Arrays, bool) {
	found, ok := d.Get(name).(Arrays)
	return found, ok
}

// Metrics returns the metrics of the name, and whether there are any.
func (d Dict) Metrics(name string) (Metrics, bool) {
	found, ok := d.Get(name).(Metrics)
	return found, ok
}

// Config returns the configuration of the name, and whether there is any.
func (d Dict) Config(name string) (Config, bool) {
	found, ok := d.Get(name).(Config)
	return found, ok
}

// Get returns the array of the name, and whether there is one.
func (a Arrays) Get(name string) (Array, bool) { return find(a, name) }

// Get returns the value of the name, and whether there is one.
func (m Metrics) Get(name string) (any, bool) { return find(m, name) }

// Get returns the value of the name, and whether there is one.
func (c Config) Get(name string) (any, bool) { return find(c, name) }

func find[V any](in []Named[V], name string) (V, bool) {
	for _, member := range in {
		if member.Name == name {
			return member.Value, true
		}
	}
	var none V
	return none, false
}

// FromConfig returns the values in the order of their names.
func FromConfig(config flower.Config) Config {
	made := make(Config, 0, len(config))
	for name, value := range config {
		made = append(made, Named[any]{name, value})
	}
	slices.SortFunc(made, func(a, b Named[any]) int { return strings.Compare(a.Name, b.Name) })
	return made
}

// Scalars returns the values that are no lists, and the names of the lists, which a [flower.Config]
// cannot hold.
func (c Config) Scalars() (scalars flower.Config, lists []string) { return splitScalars(c) }

// Scalars returns the numbers that are no lists, and the names of the lists, which a [flower.Config]
// cannot hold.
func (m Metrics) Scalars() (scalars flower.Config, lists []string) { return splitScalars(m) }

func splitScalars(members []Named[any]) (scalars flower.Config, lists []string) {
	scalars = make(flower.Config, len(members))
	for _, m := range members {
		switch m.Value.(type) {
		case []int64, []uint64, []float64, []bool, []string, [][]byte:
			lists = append(lists, m.Name)
		default:
			scalars[m.Name] = m.Value
		}
	}
	return scalars, lists
}

// unique returns an error that names a name which members share.
func unique[V any](members []Named[V]) error {
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.Name] {
			return fmt.Errorf("two members have the name %q", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}
