// Package mqtt3 connects channels to MQTT 3.1.1 brokers.
package mqtt3
