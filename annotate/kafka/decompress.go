package kafka

import "github.com/IBM/sarama"

// maxDecompressed is the bound of a batch of messages once it is decompressed: 256 MiB. A
// batch of a megabyte may otherwise take a thousand.
const maxDecompressed = 256 << 20

// The library has the bound in a variable for the whole process, which clients read from the
// moment they are created. It is therefore set before any is, unless the program does so
// itself.
var _ = boundDecompression()

func boundDecompression() struct{} {
	if sarama.MaxDecompressedBatchSize == 0 {
		sarama.MaxDecompressedBatchSize = maxDecompressed
	}
	return struct{}{}
}
