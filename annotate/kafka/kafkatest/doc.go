// Package kafkatest starts Kafka clusters for tests, with connections that a test can
// interrupt. Everything listens on free loopback ports and ends with the test.
package kafkatest
