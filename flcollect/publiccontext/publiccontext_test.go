package publiccontext

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCondition_Holds_comparesDigests(t *testing.T) {
	for _, c := range []struct {
		condition     Condition
		none, a, some bool // for no context, for "a", and for another one
	}{
		{Condition{}, true, true, true},
		{Condition{Match: []string{"a"}}, false, true, false},
		{Condition{Match: []string{"*"}}, false, true, true},
		{Condition{NoneMatch: []string{"a"}}, true, false, true},
		{Condition{NoneMatch: []string{"*"}}, true, false, false},
		{Condition{Match: []string{"*"}, NoneMatch: []string{"a"}}, false, false, true},
	} {
		require.Equal(t, c.none, c.condition.Holds(""), "%+v", c.condition)
		require.Equal(t, c.a, c.condition.Holds("a"), "%+v", c.condition)
		require.Equal(t, c.some, c.condition.Holds("b"), "%+v", c.condition)
	}
}
