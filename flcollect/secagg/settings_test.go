package secagg_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/secagg"
)

// The numbers of shares and thresholds are those that Flower's workflow computes.
func TestSettings_Config_countsSharesAsFlowerDoes(t *testing.T) {
	for _, c := range []struct {
		shares, threshold     float64
		clients               int
		wantShares, wantNeeds int
	}{
		{1, 0.5, 10, 10, 5},
		{0.5, 0.5, 10, 5, 2}, // 2.5 rounds to the even number
		{0.4, 0.75, 10, 5, 4},
		{0.2, 0.1, 10, 10, 2},
		{5, 3, 10, 5, 3},
		{5, 3, 4, 4, 3},
		{5, 1, 10, 5, 5},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := secagg.Settings{NumShares: c.shares, ReconstructionThreshold: c.threshold}
			require.NoError(t, s.Check())
			require.NoError(t, s.CheckClients(c.clients))
			clients := make([]uint64, c.clients)
			for i := range clients {
				clients[i] = uint64(i + 1)
			}
			config := s.Config(clients, [][]int{{2}}, nil)
			shares, threshold := secagg.CountShares(config)
			require.Equal(t, [2]int{c.wantShares, c.wantNeeds}, [2]int{shares, threshold})
		})
	}
}

func TestSettings_Check_namesTheField(t *testing.T) {
	require.NoError(t, secagg.Settings{}.Check())
	require.NoError(t, secagg.Settings{}.CheckClients(2))
	for reason, s := range map[string]secagg.Settings{
		"num_shares: -1 is not":                                     {NumShares: -1},
		"num_shares: 2 is neither":                                  {NumShares: 2},
		"num_shares: 3.5 is neither":                                {NumShares: 3.5},
		"num_shares: 1024 is neither":                               {NumShares: 1024},
		"reconstruction_threshold: NaN is not":                      {ReconstructionThreshold: math.NaN()},
		"reconstruction_threshold: 2.5 is neither":                  {ReconstructionThreshold: 2.5},
		"reconstruction_threshold: 5 is not less than num_shares":   {NumShares: 5, ReconstructionThreshold: 5},
		"max_weight: -1 is not":                                     {MaxWeight: -1},
		"clipping_range: +Inf is not":                               {ClippingRange: math.Inf(1)},
		"quantization_range: -4 is not":                             {QuantizationRange: -4},
		"modulus_range: 1000 is not a power of 2":                   {ModulusRange: 1000},
		"timeout: -1 is not":                                        {Timeout: -1},
		"reconstruction_threshold: 4 is more than the 3 shares in":  {ReconstructionThreshold: 4},
		"modulus_range: 8388608 cannot hold the sum of 3 clients":   {ModulusRange: 1 << 23},
		"modulus_range: 4294967296 cannot hold the sum of 3 client": {QuantizationRange: math.MaxInt32},
	} {
		t.Run(reason, func(t *testing.T) {
			err := s.Check()
			if err == nil {
				err = s.CheckClients(3)
			}
			var field *secagg.FieldError
			require.ErrorAs(t, err, &field)
			require.ErrorContains(t, err, "secagg: "+reason)
		})
	}
	require.ErrorContains(t, secagg.Settings{}.CheckClients(1), "secagg: a round of 1 clients is not possible")
	require.ErrorContains(t, secagg.Settings{NumShares: 1}.CheckClients(2000), "num_shares: 1 of 2000 clients is more than 1023")
}

// Settings that are valid for a number of clients make a valid round.
func TestSettings_CheckClients_agreesWithNew(t *testing.T) {
	exchange := func(context.Context, secagg.Stage, map[uint64]secagg.Values, func(uint64, secagg.Values, error)) error {
		return nil
	}
	for _, shares := range []float64{0, 0.1, 0.3, 0.5, 1, 3, 4, 7} {
		for _, threshold := range []float64{0, 0.1, 0.5, 1, 2, 3, 6} {
			s := secagg.Settings{NumShares: shares, ReconstructionThreshold: threshold, Timeout: 1.5}
			if s.Check() != nil {
				continue
			}
			for n := 2; n < 12; n++ {
				clients := make([]uint64, n)
				for i := range clients {
					clients[i] = uint64(i)
				}
				config := s.Config(clients, [][]int{{2}}, exchange)
				require.Equal(t, 1500*time.Millisecond, config.StageTimeout)
				_, err := secagg.New(config)
				require.Equal(t, err == nil, s.CheckClients(n) == nil, "%v with %d clients: %v", s, n, err)
			}
		}
	}
}
