package record_test

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// The model of a round is deflated once, and its objects are shared by the messages of all nodes.
func Example() {
	model, err := record.FromTensors([]string{"dense.weight", "dense.bias"},
		tensor.FromFloat32s([]float32{1, 2, 3, 4}, 2, 2), tensor.FromFloat32s([]float32{0, 0}, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	prepared, err := record.Prepare(model)
	if err != nil {
		fmt.Println(err)
		return
	}
	store := map[string]flower.Blob{}
	for node := uint64(7); node < 9; node++ {
		tree, objects, err := record.Deflate(record.Message{
			Metadata: record.Metadata{
				RunID: 1, Source: record.ServerNode, Destination: node, GroupID: "1", TTL: 3600, Type: record.Train,
			},
			Content: record.Dict{
				{Name: "arrays", Value: prepared},
				{Name: "config", Value: record.Config{{Name: "server-round", Value: int64(1)}}},
			},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, object := range objects {
			store[object.ID] = object.Content
		}
		received, err := record.Inflate(tree.ID, func(id string) (flower.Blob, bool) {
			content, ok := store[id]
			return content, ok
		}, record.Limits{})
		if err != nil {
			fmt.Println(err)
			return
		}
		arrays, _ := received.Content.Arrays("arrays")
		fmt.Println(received.Metadata.Destination, arrays.Names(), len(store), "objects")
	}
	// Output:
	// 7 [dense.weight dense.bias] 8 objects
	// 8 [dense.weight dense.bias] 9 objects
}

func ExampleParseHead() {
	_, objects, err := record.Deflate(record.Message{Content: record.Dict{{Name: "config", Value: record.Config{}}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		head, err := record.ParseHead(object.Content)
		fmt.Println(head.Type, len(head.Children), head.Body.Len(), err)
	}
	// Output:
	// ConfigRecord 0 0 <nil>
	// RecordDict 1 78 <nil>
	// Message 1 2 <nil>
}

func ExampleFromParameters() {
	sent := flower.FromTensors(tensor.FromFloat32s([]float32{1, 2}, 2))
	arrays := record.FromParameters(sent)
	again, err := arrays.Parameters()
	fmt.Println(arrays.Names(), again.Type, len(again.Tensors), err)
	// Output: [0] numpy.ndarray 1 <nil>
}
