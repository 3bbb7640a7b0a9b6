// Package record implements Flower's records and messages, as its Message API has them, and the two
// forms in which they travel: content-addressed objects (Flower 1.20 and later), and protobuf messages
// that carry their records (1.13 to 1.19).
//
// # Records
//
// A [Dict] (Flower's RecordDict) holds named records, in an order: [Arrays] (ArrayRecord), [Metrics]
// (MetricRecord) and [Config] (ConfigRecord). The data of an [Array] is a [flower.Blob]; that of a
// NumPy array is a .npy file, as a tensor of [flower.Parameters] is, so both convert into each other
// without a copy. A [Message] is metadata and a Dict, or an error in place of the Dict.
//
// # Objects
//
// [Deflate] turns a message into objects. An object is named by the SHA-256 of its content, and an
// object's content names its children. Data of arrays is cut into chunks of [ChunkSize] bytes, which
// are views of the data. [Prepare] deflates a record once for many messages, such as the model of a
// round. [Inflate] does the reverse, within [Limits].
//
// # Protobuf
//
// [EncodeMessage], [EncodeTree] and [EncodeTask] return messages of Flower's protocol in chunks that
// refer to the data of arrays, and there is a function to decode each. Before release 1.19 records
// were grouped by kind, in maps: see [Form].
//
// Everything that a decoder returns refers to the bytes that were decoded. Values are not changed by
// this package, so they may be used concurrently as long as the caller does not change them.
//
// Source: flwr.app, flwr.supercore.inflatable and flwr.proto of Flower 1.13 to 1.42.
package record
