// Package kafkatest starts Kafka clusters for tests, and has a cable that can
// be cut. Everything listens on free loopback ports and ends with the test.
package kafkatest
