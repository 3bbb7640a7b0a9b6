package dp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestAdaptive_takes64BitsWhereRoundingWouldShow(t *testing.T) {
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	for _, serverSide := range []bool{true, false} {
		private, err := dp.New(fedAvg, strategy.Conf{"num_sampled_clients": 100, "server_side_noising": serverSide}, nil)
		require.NoError(t, err)
		require.Equal(t, !serverSide, private.Takes(tensor.Float64, tensor.Float32), "with the noise of the client")
		require.True(t, private.Takes(tensor.Float64, tensor.Int64), "a clipped step of a counter")
		require.False(t, private.Takes(tensor.Float16, tensor.Float32))
	}
}
