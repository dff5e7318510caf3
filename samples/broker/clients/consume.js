// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of kafkajs in a group: prints the partition, offset and value of each record.
 *
 *   consume.js ADDRESS TOPIC SESSION_MS
 *
 * All members of a group need a common assignor, and that of kafkajs has a name of its own.
 */
const { Kafka, PartitionAssigners, logLevel } = require('kafkajs');

const [address, topic, session] = process.argv.slice(2);

function roundrobin(options)
{
	const assigner = PartitionAssigners.roundRobin(options);

	return {
		...assigner,
		name: 'roundrobin',
		protocol: (topics) => ({ ...assigner.protocol(topics), name: 'roundrobin' }),
	};
}

const consumer = new Kafka({ brokers: [address], logLevel: logLevel.ERROR }).consumer({
	groupId: 'group', sessionTimeout: Number(session), heartbeatInterval: 1000,
	partitionAssigners: [roundrobin], maxWaitTimeInMs: 500,
});

async function main()
{
	await consumer.connect();
	await consumer.subscribe({ topic, fromBeginning: true });
	await consumer.run({ eachMessage: async ({ partition, message }) =>
		console.log(partition, message.offset, message.value.toString()) });
}

process.on('SIGTERM', async () => {
	await consumer.disconnect();
	process.exit(0);
});
main();
