package overview

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInventory_showsTheLastCountAndCountsRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts uint64
		took, failure := 10*time.Millisecond, error(nil)
		i := Tally(t.Context(), func(context.Context) ([]Fact, error) {
			time.Sleep(took)
			counts++
			return []Fact{{Name: "models", Value: counts}}, failure
		})
		look := func() Block {
			var b Block
			i.Show(&b)
			return b
		}
		require.Equal(t, []Fact{{Name: "models", Value: 1}}, look().Facts, "the first page waits")
		for range 100 {
			look()
		}
		require.EqualValues(t, 1, counts, "a page that asks often does not count often")

		time.Sleep(inventoryPause)
		took = 10 * time.Second
		require.EqualValues(t, 1, look().Facts[0].Value, "the page does not wait for a slow count")
		time.Sleep(took)
		synctest.Wait()
		require.EqualValues(t, 2, look().Facts[0].Value)
		time.Sleep(inventoryShare*took - time.Second)
		look()
		synctest.Wait()
		require.EqualValues(t, 2, counts, "what takes long is counted rarely")

		time.Sleep(time.Second)
		took, failure = 0, errors.New("the folder is gone")
		look()
		synctest.Wait()
		s := look()
		require.Equal(t, "the folder is gone", s.Fault)
		require.EqualValues(t, 2, s.Facts[0].Value, "what was known stays")

		time.Sleep(inventoryPause)
		failure = nil
		look()
		synctest.Wait()
		require.Empty(t, look().Fault)
	})
}
