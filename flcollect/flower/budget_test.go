package flower

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestBudget_admitsInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{size: 100}
		order := make(chan int, 3)
		first, err := b.acquire(t.Context(), 80)
		require.NoError(t, err)
		for k, size := range []int64{50, 10, 1000} {
			go func() {
				free, err := b.acquire(t.Context(), size)
				require.NoError(t, err)
				order <- k
				free()
			}()
			synctest.Wait()
		}
		require.Empty(t, order, "a small one does not overtake")
		given, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("left"))
		_, err = b.acquire(given, 5)
		require.EqualError(t, err, "left")
		first()
		synctest.Wait()
		close(order)
		var seen []int
		for k := range order {
			seen = append(seen, k)
		}
		require.ElementsMatch(t, []int{0, 1, 2}, seen)
		require.Equal(t, 2, seen[2], "what is larger than all is admitted alone")
		require.Zero(t, b.used)
		require.Zero(t, b.waiting.Len())
	})
}
