package jobconfig_test

import (
	"fmt"
	"log"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
)

func ExampleParse() {
	config, err := jobconfig.Parse([]byte(`{
		"strategy": "avg", "strategy_conf": {"min_fit_clients": "3"},
		"model_name": "tumours", "model_version": "1",
		"server_conf": {"num_rounds": 5}, "client_conf": [{"epochs": 1}],
		"privacy-mechanisms": {}, "configuration_id": 10
	}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.Rounds, config.StrategyConf, config.ClientConf[0]["batch_size"])

	_, err = jobconfig.Parse([]byte(`{"strategy": "avg"}`))
	fmt.Println(err)
	// Output:
	// 5 map[min_fit_clients:3] 32
	// read job configuration: model_name: is required (and 6 more)
}
