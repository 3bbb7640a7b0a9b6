package collectors_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

// The environment of a process that is a collector.
const (
	nameVariable     = "COLLECTOR_NAME"
	uriVariable      = "COLLECTOR_MONGODB"
	databaseVariable = "COLLECTOR_DATABASE"
	bucketVariable   = "COLLECTOR_S3"
)

// lease is that of the collectors: long enough for two cores that do much else.
const lease = 3 * time.Second

func TestMain(m *testing.M) {
	if name := os.Getenv(nameVariable); name != "" {
		if err := runCollector(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// runCollector is a collector until its process is killed.
func runCollector(ctx context.Context, name string) error {
	documents, err := mongo.Open(ctx, mongo.Config{URI: os.Getenv(uriVariable), Database: os.Getenv(databaseVariable)})
	if err != nil {
		return err
	}
	blobs, err := openBlobs(ctx, os.Getenv(bucketVariable))
	if err != nil {
		return err
	}
	clients, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server, err := flcollect.NewServer(flcollect.Config{
		Documents: documents.Documents(), Blobs: blobs.Blobs(), Initial: zeros, Logger: log,
		Name: name, Lease: lease, Advertise: clients.Addr().String(),
	})
	if err != nil {
		return err
	}
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle, Relay: server.TrustsRelay, Logger: log})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/start/{id}/{rounds}", func(w http.ResponseWriter, r *http.Request) {
		rounds, err := strconv.Atoi(r.PathValue("rounds"))
		if err == nil {
			err = server.Start(r.Context(), r.PathValue("id"), job(rounds))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	fmt.Printf("collector at %s and %s\n", clients.Addr(), web.Addr())
	ended := make(chan error, 3)
	go func() { ended <- server.Run(ctx) }()
	go func() { ended <- flowers.Serve(ctx, clients) }()
	go func() { ended <- http.Serve(web, mux) }()
	return <-ended
}

func openBlobs(ctx context.Context, address string) (*s3.Store, error) {
	return s3.Open(ctx, s3.Config{
		Endpoint: address, Bucket: "models", Prefix: "models", CreateBucket: true, Insecure: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, SweepInterval: -1,
	})
}

// size is how many numbers a model has.
const size = 10_000

func zeros(context.Context, flcollect.JobConfig) (strategy.Model, error) {
	return strategy.Model{tensor.FromFloat32s(make([]float32, size))}, nil
}

func job(rounds int) flcollect.JobConfig {
	return flcollect.JobConfig{
		Strategy: "avg", ModelName: "m", ModelVersion: "1", Rounds: rounds, ConfigurationID: "7",
		StrategyConf: strategy.Conf{"min_fit_clients": 2, "min_evaluate_clients": 2, "min_available_clients": 2},
	}
}

// trainer adds one to every number, and takes its time.
type trainer struct{ pause time.Duration }

func (trainer) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.Parameters{}, flower.ErrNotImplemented
}

func (r trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(r.pause):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	trained := strategy.Map(model, func(values []float64, layer, from int) {
		model[layer].ReadFloat64s(values, from)
		for i := range values {
			values[i]++
		}
	})
	return &flower.FitRes{Parameters: flower.FromTensors(trained...), NumExamples: 10}, nil
}

func (r trainer) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	return &flower.EvaluateRes{Loss: float32(model[0].Float64s()[0]), NumExamples: 1}, nil
}
