package plugin

import (
	"encoding/json"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// Prometheus is the kind "prometheus". Configurations of Kong have it to get
// metrics; this gateway always measures, by service, route and status, so the
// plugin does nothing. Its fields are accepted: status_code_metrics,
// latency_metrics, bandwidth_metrics, upstream_health_metrics, ai_metrics,
// wasm_metrics and per_consumer, by which this gateway does not measure, as the
// number of series would be that of consumers.
func Prometheus() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "prometheus",
		Summary:  "accepted; the gateway measures in any case",
		Priority: 13,
	}, nil, compilePrometheus)
}

type prometheusConfig struct {
	StatusCode     bool            `json:"status_code_metrics"`
	Latency        bool            `json:"latency_metrics"`
	Bandwidth      bool            `json:"bandwidth_metrics"`
	UpstreamHealth bool            `json:"upstream_health_metrics"`
	AI             bool            `json:"ai_metrics"`
	Wasm           bool            `json:"wasm_metrics"`
	PerConsumer    bool            `json:"per_consumer"`
	Labels         json.RawMessage `json:"labels" schema:"-"`
}

func compilePrometheus(c *prometheusConfig, setup gateway.Setup) (gateway.Plugin, error) {
	if c.PerConsumer {
		setup.Logger.Warn("metrics are not by consumer: per_consumer has no effect")
	}
	return gateway.Plugin{}, nil
}
