package supernode_test

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// writeApp writes an app, as `flwr build` does.
func writeApp(dir string) {
	file, err := os.Create(filepath.Join(dir, "acme.vision.1-0-0.fab"))
	if err != nil {
		log.Fatal(err)
	}
	archive := zip.NewWriter(file)
	project := "[project]\nname = \"vision\"\nversion = \"1.0.0\"\n[tool.flwr.app]\npublisher = \"acme\"\n"
	for _, part := range [][2]string{
		{"pyproject.toml", project},
		{".info/CONTENT", fmt.Sprintf("pyproject.toml,%x,%d", sha256.Sum256([]byte(project)), 8*len(project))},
	} {
		w, err := archive.Create(part[0])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprint(w, part[1])
	}
	if err := archive.Close(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

func ExampleOpenApps() {
	dir, err := os.MkdirTemp("", "apps")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	writeApp(dir)
	apps, err := supernode.OpenApps(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	app, err := apps.Find("acme/vision")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(app)
	// Output: acme/vision==1.0.0
}

// A SuperNode trains one round.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "apps")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	writeApp(dir)
	apps, err := supernode.OpenApps(context.Background(), dir)
	if err != nil {
		log.Fatal(err)
	}
	nodes := make(chan *supernode.Node)
	server, err := supernode.New(supernode.Config{Apps: apps, Handle: func(ctx context.Context, node *supernode.Node) error {
		nodes <- node
		<-ctx.Done()
		return nil
	}})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()

	// In place of flower-supernode --superlink ADDRESS.
	client, err := supernodetest.New(supernodetest.Config{Address: listener.Addr().String()})
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Activate(ctx); err != nil {
		log.Fatal(err)
	}
	go client.Run(ctx, func(message record.Message) (record.Dict, error) {
		arrays, _ := message.Content.Arrays("arrays")
		return record.Dict{
			{Name: "arrays", Value: arrays},
			{Name: "metrics", Value: record.Metrics{{Name: "num-examples", Value: 20}}},
		}, nil
	})

	run, err := server.OpenRun(supernode.RunConfig{ID: 1, App: "acme/vision", Names: []string{"weights"}})
	if err != nil {
		log.Fatal(err)
	}
	member, err := run.Join(<-nodes)
	if err != nil {
		log.Fatal(err)
	}
	run.SetRound(1)
	res, err := member.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s([]float32{1, 2, 3}, 3))})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.NumExamples, "examples,", len(res.Parameters.Tensors), "layer")
	res.Release()
	run.Close()
	cancel()
	fmt.Println(<-served)
	// Output:
	// 20 examples, 1 layer
	// <nil>
}
