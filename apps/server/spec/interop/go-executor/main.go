// An executor as many are written: it decodes a payload into structs with encoding/json, and acts on what it finds.
//
// Standard input has a JSON string a line, each a payload. Standard output has what would be executed, or the word "refused".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"
)

type payload struct {
	Arguments *struct {
		Amount   json.Number `json:"amount"`
		Currency string      `json:"currency"`
		To       *struct {
			IBAN string `json:"iban"`
		} `json:"to"`
		CC    []string `json:"cc"`
		Items []struct {
			Amount json.Number `json:"amount"`
		} `json:"items"`
	} `json:"arguments"`
}

type executed struct {
	Amount   string   `json:"amount"`
	Currency string   `json:"currency"`
	Payee    string   `json:"payee"`
	CC       []string `json:"cc,omitempty"`
	Total    string   `json:"total,omitempty"`
}

const decimals = 8

func amountOf(number json.Number) (*big.Rat, bool) {
	return new(big.Rat).SetString(number.String())
}

func execute(text string) (*executed, bool) {
	var read payload
	if json.Unmarshal([]byte(text), &read) != nil || read.Arguments == nil || read.Arguments.To == nil {
		return nil, false
	}
	arguments := read.Arguments
	amount, isAmount := amountOf(arguments.Amount)
	if !isAmount {
		return nil, false
	}
	act := &executed{
		Amount:   amount.FloatString(decimals),
		Currency: arguments.Currency,
		Payee:    strings.ToUpper(arguments.To.IBAN),
		CC:       arguments.CC,
	}
	if len(arguments.Items) > 0 {
		total := new(big.Rat)
		for _, item := range arguments.Items {
			amount, isAmount := amountOf(item.Amount)
			if !isAmount {
				return nil, false
			}
			total.Add(total, amount)
		}
		act.Total = total.FloatString(decimals)
	}
	return act, true
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		act, isExecuted := execute(text)
		if !isExecuted {
			fmt.Println(`"refused"`)
			continue
		}
		line, err := json.Marshal(act)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(line))
	}
}
