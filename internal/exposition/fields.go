package exposition

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector returns the metrics that the tags of T describe. T is a struct, and read returns the
// current values. A field of T is a metric if it has the tags
//
//	Received uint64 `metric:"messages_received_total" help:"Messages that were received."`
//
// The name of the metric is the prefix and the tag. A name that ends in _total is a counter, any other a
// gauge. Booleans are 0 or 1, a text is 1 unless it is empty, a pointer that is nil has no series, and a type with the
// method Seconds, such as [time.Duration], is in seconds. A type that is a [Histogram] is a histogram. A map from
// texts has a series for each key, which is the value of the label that the tag label names. The fields of a
// struct within T are metrics as those of T; the tag metric of a map of structs is a further prefix.
//
// Collector panics if a tag is wrong.
func Collector[T any](prefix string, read func() T) prometheus.Collector {
	c := &collector[T]{read: read, metrics: structMetrics(reflect.TypeFor[T](), prefix, nil)}
	if len(c.metrics) == 0 {
		panic(fmt.Sprintf("exposition: %s has no fields with the tag metric", reflect.TypeFor[T]()))
	}
	seen := map[string]bool{}
	describe(c.metrics, func(desc *prometheus.Desc) {
		if seen[desc.String()] {
			panic(fmt.Sprintf("exposition: %s has two fields with the metric %s", reflect.TypeFor[T](), desc))
		}
		seen[desc.String()] = true
	})
	return c
}

// Histogram is a distribution of values, such as durations in seconds.
type Histogram interface {
	// Cumulative returns the number of values, their sum, and the number of values up to each bound.
	Cumulative() (count uint64, sum float64, buckets map[float64]uint64)
}

type collector[T any] struct {
	read    func() T
	metrics []metric
}

// Describe implements prometheus.Collector.
func (c *collector[T]) Describe(descs chan<- *prometheus.Desc) {
	describe(c.metrics, func(desc *prometheus.Desc) { descs <- desc })
}

func describe(metrics []metric, visit func(*prometheus.Desc)) {
	for _, m := range metrics {
		if m.desc == nil {
			describe(m.fields, visit)
			continue
		}
		visit(m.desc)
	}
}

// Collect implements prometheus.Collector.
func (c *collector[T]) Collect(out chan<- prometheus.Metric) {
	collect(c.metrics, reflect.ValueOf(c.read()), nil, out)
}

func collect(metrics []metric, of reflect.Value, labels []string, out chan<- prometheus.Metric) {
	for _, m := range metrics {
		v := of.FieldByIndex(m.index)
		if !m.byKey {
			m.collect(v, labels, out)
			continue
		}
		for entries := v.MapRange(); entries.Next(); {
			m.collect(entries.Value(), append(slices.Clip(labels), entries.Key().String()), out)
		}
	}
}

// metric is what the tags of a field describe.
type metric struct {
	index  []int // of the field
	byKey  bool  // the field is a map, whose keys are labels
	desc   *prometheus.Desc
	kind   prometheus.ValueType
	fields []metric // in place of desc, of the structs in a map
}

func (m *metric) collect(v reflect.Value, labels []string, out chan<- prometheus.Metric) {
	if m.desc == nil {
		collect(m.fields, v, labels, out)
		return
	}
	if h, is := v.Interface().(Histogram); is {
		count, sum, buckets := h.Cumulative()
		out <- prometheus.MustNewConstHistogram(m.desc, count, sum, buckets, labels...)
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	out <- prometheus.MustNewConstMetric(m.desc, m.kind, number(v), labels...)
}

type seconds interface{ Seconds() float64 }

// number returns the value of a metric.
func number(v reflect.Value) float64 {
	if d, is := v.Interface().(seconds); is {
		return d.Seconds()
	}
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	case v.CanFloat():
		return v.Float()
	case v.IsZero(): // false, and the empty text
		return 0
	default:
		return 1
	}
}

// structMetrics returns the metrics of a struct type.
func structMetrics(t reflect.Type, prefix string, labels []string) []metric {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("exposition: %s must be a struct", t))
	}
	var metrics []metric
	for field := range t.Fields() {
		_, isMetric := field.Tag.Lookup("metric")
		_, byKey := field.Tag.Lookup("label")
		switch {
		case (isMetric || byKey) && !field.IsExported():
			panic(fmt.Sprintf("exposition: %s.%s must be exported", t, field.Name))
		case byKey:
			metrics = append(metrics, mapMetric(field, prefix, labels))
		case isMetric:
			metrics = append(metrics, valueMetric(field, field.Type, prefix, labels))
		case field.Type.Kind() == reflect.Struct:
			for _, m := range structMetrics(field.Type, prefix, labels) {
				m.index = append(slices.Clone(field.Index), m.index...)
				metrics = append(metrics, m)
			}
		}
	}
	return metrics
}

// mapMetric returns the metric of each value of a map, or the metrics of each struct in it.
func mapMetric(field reflect.StructField, prefix string, labels []string) metric {
	if field.Type.Kind() != reflect.Map || field.Type.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("exposition: field %s with the tag label must be a map from texts, got %s", field.Name, field.Type))
	}
	value := field.Type.Elem()
	labels = append(slices.Clip(labels), field.Tag.Get("label"))
	if value.Kind() == reflect.Struct && !isHistogram(value) {
		return metric{index: field.Index, byKey: true, fields: structMetrics(value, prefix+field.Tag.Get("metric"), labels)}
	}
	m := valueMetric(field, value, prefix, labels)
	m.byKey = true
	return m
}

// valueMetric returns the metric of a field, or of each value of a field that is a map.
func valueMetric(field reflect.StructField, value reflect.Type, prefix string, labels []string) metric {
	name, help := field.Tag.Get("metric"), field.Tag.Get("help")
	if name == "" || help == "" {
		panic(fmt.Sprintf("exposition: field %s must have the tags metric and help", field.Name))
	}
	if value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if !isHistogram(value) && !isNumber(value) {
		panic(fmt.Sprintf("exposition: field %s must be a number or a histogram, got %s", field.Name, value))
	}
	m := metric{index: field.Index, kind: prometheus.GaugeValue, desc: prometheus.NewDesc(prefix+name, help, labels, nil)}
	if strings.HasSuffix(name, "_total") {
		m.kind = prometheus.CounterValue
	}
	return m
}

func isHistogram(t reflect.Type) bool { return t.Implements(reflect.TypeFor[Histogram]()) }

// isNumber reports whether number returns a value of the type.
func isNumber(t reflect.Type) bool {
	switch v := reflect.Zero(t); {
	case t.Implements(reflect.TypeFor[seconds]()), v.CanInt(), v.CanUint(), v.CanFloat():
		return true
	default:
		return t.Kind() == reflect.Bool || t.Kind() == reflect.String
	}
}
