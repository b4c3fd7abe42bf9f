"""PostgreSQL's server from Debian's package, for tests: in a folder of its own, on a socket, run by a user that is not root."""

import glob
import os
import subprocess


class Server:
    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            raise FileNotFoundError("no PostgreSQL: apt-get install postgresql")
        self.folder, self.bin = folder, found[-1]
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        if self.user:
            import pwd
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        self.call("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "fleet", "--no-sync")
        self.call("pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o",
                  f"-c listen_addresses='' -k {folder}", "start")

    def call(self, program, *words):
        subprocess.run([*self.user, f"{self.bin}/{program}", *words], check=True, capture_output=True, cwd="/")

    def stop(self):
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def client(self, database, text):
        return [f"{self.bin}/psql", "-h", self.folder, "-U", "fleet", "-At", "-F", "\t", "-c", text, database]

    def sql(self, database, text):
        told = subprocess.run(self.client(database, text), check=True, capture_output=True, text=True).stdout
        return [tuple(line.split("\t")) for line in told.splitlines()]

    def new_database(self, name):
        self.sql("postgres", f"CREATE DATABASE {name}")
        return f"postgresql://fleet@{self.folder.replace('/', '%2F')}/{name}"
