package strategy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
)

func TestNew_strategiesConform(t *testing.T) {
	confs := map[string]strategy.Conf{
		"FedProx": {"proximal_mu": 0.5}, "FedAvgM": {"server_momentum": 0.9}, "FedAdam": {"bias_correction": true},
		"MultiKrum": {"num_clients_to_keep": 4, "num_malicious_clients": 1}, "Bulyan": {"num_malicious_clients": 2},
	}
	for _, name := range strategy.Names() {
		t.Run(name, func(t *testing.T) {
			strategytest.Run(t, func() strategy.Strategy {
				made, err := strategy.New(name, confs[name])
				require.NoError(t, err)
				return made
			})
		})
	}
}
