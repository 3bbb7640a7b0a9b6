package jsondoc

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

func TestShapes_shareAClassBetweenEqualObjects(t *testing.T) {
	d := New(input.Limits{}).NewDocument().(*Document)
	require.NoError(t, d.Load([]byte(`[{"a":1,"long enough":2},{"a":[0],"long enough":3},{"long `+
		`enough":1,"a":2},{"a":"x","long enough":"y"},{}, {"\u0061":1}]`)))
	var classes []uint16
	for _, e := range d.Elements(nil, 0) {
		classes = append(classes, d.tape[e.Node].class)
	}
	require.NotZero(t, classes[0])
	require.Equal(t, []uint16{classes[0], classes[0], classes[0]}, []uint16{classes[0], classes[1], classes[3]})
	for _, other := range []uint16{classes[2], classes[4], classes[5]} {
		require.NotEqual(t, classes[0], other)
	}
	require.NotZero(t, d.tape[1].flags&flatObject)
	require.Zero(t, d.tape[4].flags&flatObject, "this one holds an object")
}

func TestShapes_renewAfterManyUnknownObjects(t *testing.T) {
	d := New(input.Limits{}).NewDocument().(*Document)
	for i := range maxFollowers {
		require.NoError(t, d.Load([]byte(`{"`+strconv.Itoa(i)+`":1}`)))
		require.NotZero(t, d.tape[0].class)
	}
	steady := []byte(`{"steady":1}`)
	require.NoError(t, d.Load(steady))
	require.Zero(t, d.tape[0].class, "no room for another first name")
	for range maxStrangers {
		require.NoError(t, d.Load(steady))
	}
	require.NotZero(t, d.tape[0].class)
	require.LessOrEqual(t, len(d.shapes.places), maxShapes)
}

func TestShapes_areBounded(t *testing.T) {
	d := New(input.Limits{}).NewDocument().(*Document)
	var wide []byte
	for i := range 10_000 {
		wide = append(wide, `,"m`+strconv.Itoa(i)+`":[{"k`+strconv.Itoa(i%100)+`":{"x`+strconv.Itoa(i)+`":1}}]`...)
	}
	wide[0] = '{'
	require.NoError(t, d.Load(append(wide, '}')))
	require.LessOrEqual(t, len(d.shapes.places), maxShapes)
	require.LessOrEqual(t, d.shapes.classes, maxClasses)
	require.Len(t, d.shapes.positions, (d.shapes.classes+1)*d.shapes.stride)
}
